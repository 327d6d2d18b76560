//! Draws a line chart as SVG, with a logarithmic horizontal axis: sizes and numbers of clients span orders of
//! magnitude.

use std::fmt::Write;

pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

const WIDTH: f64 = 700.0;
const HEIGHT: f64 = 360.0;
/// The area of the chart itself; labels are outside of it.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 520.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 310.0;

const COLOURS: [&str; 6] = ["#1b6ca8", "#c0392b", "#1e8449", "#7d3c98", "#b9770e", "#2c3e50"];

pub fn svg(title: &str, below: &str, beside: &str, lines: &[Line]) -> String {
    let all = || lines.iter().flat_map(|line| &line.points);
    let (low, high) =
        all().fold((f64::MAX, f64::MIN), |(low, high), point| (low.min(point.0), high.max(point.0)));
    let most = all().fold(0.0, |most: f64, point| most.max(point.1)) * 1.1;
    let x = |value: f64| LEFT + (value / low).ln() / (high / low).ln().max(f64::EPSILON) * (RIGHT - LEFT);
    let y = |value: f64| BOTTOM - value / most.max(f64::EPSILON) * (BOTTOM - TOP);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{title}</text>\n\
         <text x=\"{LEFT}\" y=\"{}\">{below}</text>\n\
         <text transform=\"translate(16 {BOTTOM}) rotate(-90)\">{beside}</text>\n",
        HEIGHT - 10.0
    );
    for step in 0..=4 {
        let value = most * f64::from(step) / 4.0;
        let (at, shown) = (y(value), rounded(value));
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{shown}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let mut marks: Vec<f64> = all().map(|point| point.0).collect();
    marks.sort_unstable_by(f64::total_cmp);
    marks.dedup();
    for mark in marks {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            x(mark),
            BOTTOM + 18.0,
            rounded(mark)
        );
    }
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<String> =
            line.points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
        let _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
            points.join(" ")
        );
        for point in &line.points {
            let _ = writeln!(
                svg,
                "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" fill=\"{colour}\"/>",
                x(point.0),
                y(point.1)
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{}\" fill=\"{colour}\">{}</text>",
            RIGHT + 12.0,
            TOP + 18.0 * (number + 1) as f64,
            line.name
        );
    }
    svg.push_str("</svg>\n");
    svg
}

fn rounded(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}
