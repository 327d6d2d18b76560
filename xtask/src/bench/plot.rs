//! Draws a line chart as SVG, with a logarithmic horizontal axis: sizes and numbers of clients span orders of
//! magnitude. Each line has its name at its end.

use std::fmt::Write;

pub struct Line {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// The labels of a chart, and its vertical axis.
pub struct Chart {
    pub title: &'static str,
    pub below: &'static str,
    pub beside: &'static str,
    pub is_logarithmic: bool,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 380.0;
/// The area of the chart itself; labels are outside of it.
const LEFT: f64 = 70.0;
const RIGHT: f64 = 560.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 330.0;

/// The distance between the names of two lines that end at the same height.
const NAME_HEIGHT: f64 = 16.0;

/// No two are alike, also for most colour-blind readers: neighbours differ in lightness as well as in hue.
const COLOURS: [&str; 10] = [
    "#0b5394", "#e06c00", "#1a7f37", "#b3178a", "#5b5b5b", "#00a3a3", "#a61c1c", "#7a5cff", "#8a6d00",
    "#000000",
];

/// The scales that turn values into positions.
struct Scales {
    low: f64,
    high: f64,
    least: f64,
    most: f64,
    is_logarithmic: bool,
}

impl Scales {
    fn of(lines: &[Line], is_logarithmic: bool) -> Self {
        let all = || lines.iter().flat_map(|line| &line.points);
        let range = |value: fn(&(f64, f64)) -> f64| {
            all().map(value).fold((f64::MAX, f64::MIN), |(low, high), one| (low.min(one), high.max(one)))
        };
        let ((low, high), (least, most)) = (range(|point| point.0), range(|point| point.1));
        let (least, most) = if is_logarithmic {
            (10_f64.powf(least.log10().floor()), 10_f64.powf(most.log10().ceil()))
        } else {
            (0.0, most * 1.1)
        };
        Self { low, high, least, most, is_logarithmic }
    }

    fn x(&self, value: f64) -> f64 {
        LEFT + (value / self.low).ln() / (self.high / self.low).ln().max(f64::EPSILON) * (RIGHT - LEFT)
    }

    fn y(&self, value: f64) -> f64 {
        let share = if self.is_logarithmic {
            (value / self.least).ln() / (self.most / self.least).ln().max(f64::EPSILON)
        } else {
            value / self.most.max(f64::EPSILON)
        };
        BOTTOM - share * (BOTTOM - TOP)
    }

    /// Returns the values with a line across the chart.
    fn steps(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            return (0..=4).map(|step| self.most * f64::from(step) / 4.0).collect();
        }
        let decades = (self.most / self.least).log10().round() as i32;
        (0..=decades).map(|decade| self.least * 10_f64.powi(decade)).collect()
    }
}

pub fn svg(chart: &Chart, lines: &[Line]) -> String {
    let scales = Scales::of(lines, chart.is_logarithmic);
    let Chart { title, below, beside, .. } = chart;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n\
         <text x=\"{LEFT}\" y=\"22\" font-size=\"15\">{title}</text>\n\
         <text x=\"{LEFT}\" y=\"{}\">{below}</text>\n\
         <text transform=\"translate(16 {BOTTOM}) rotate(-90)\">{beside}</text>\n",
        HEIGHT - 10.0
    );
    axes(&mut svg, &scales, lines);
    let names = places_of_names(lines, &scales);
    for ((number, line), name) in lines.iter().enumerate().zip(names) {
        draw(&mut svg, &scales, line, (COLOURS[number % COLOURS.len()], name));
    }
    svg.push_str("</svg>\n");
    svg
}

fn axes(svg: &mut String, scales: &Scales, lines: &[Line]) {
    for value in scales.steps() {
        let (at, shown) = (scales.y(value), rounded(value));
        let _ = writeln!(
            svg,
            "<path d=\"M{LEFT} {at:.1}H{RIGHT}\" stroke=\"#ddd\"/><text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{shown}</text>",
            LEFT - 6.0,
            at + 4.0
        );
    }
    let mut marks: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
    marks.sort_unstable_by(f64::total_cmp);
    marks.dedup();
    for mark in marks {
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            scales.x(mark),
            BOTTOM + 18.0,
            grouped(mark)
        );
    }
}

/// Draws a line, and its name beside its last point. A thin line leads to a name that had to move.
fn draw(svg: &mut String, scales: &Scales, line: &Line, (colour, name): (&str, f64)) {
    let place = |point: &(f64, f64)| (scales.x(point.0), scales.y(point.1));
    let points: Vec<_> = line.points.iter().map(place).collect();
    let text: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        text.join(" ")
    );
    for (x, y) in &points {
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\" fill=\"{colour}\"/>");
    }
    let Some((x, y)) = points.last() else { return };
    let _ = writeln!(
        svg,
        "<path d=\"M{:.1} {y:.1}L{:.1} {name:.1}\" stroke=\"{colour}\" stroke-width=\"0.7\"/>\
         <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
        x + 4.0,
        x + 22.0,
        x + 26.0,
        name + 4.0,
        line.name
    );
}

/// Returns the height of each line's name: beside its last point, but never on top of another name.
fn places_of_names(lines: &[Line], scales: &Scales) -> Vec<f64> {
    let end = |line: &Line| line.points.last().map_or(BOTTOM, |point| scales.y(point.1));
    let mut order: Vec<(usize, f64)> = lines.iter().map(end).enumerate().collect();
    order.sort_by(|one, other| one.1.total_cmp(&other.1));
    // Down from the top, each below the one before; then up from the bottom, if some left the chart.
    let mut least = TOP;
    for (_, at) in &mut order {
        *at = at.max(least);
        least = *at + NAME_HEIGHT;
    }
    let mut most = BOTTOM;
    for (_, at) in order.iter_mut().rev() {
        *at = at.min(most);
        most = *at - NAME_HEIGHT;
    }
    order.sort_unstable_by_key(|(line, _)| *line);
    order.into_iter().map(|(_, at)| at).collect()
}

fn rounded(value: f64) -> String {
    if value >= 1_000.0 {
        grouped(value)
    } else if value >= 10.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

/// Returns a whole number with a comma between thousands.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_named_at_its_end_in_a_colour_of_its_own() {
        let line = |number: usize| Line {
            name: format!("line {number}"),
            points: vec![(1_000.0, 1.5), (100_000.0, 1.5 + number as f64 / 100.0)],
        };
        let lines: Vec<_> = (0..COLOURS.len()).map(line).collect();
        let chart = Chart { title: "t", below: "b", beside: "s", is_logarithmic: false };
        let svg = svg(&chart, &lines);
        for (line, colour) in lines.iter().zip(COLOURS) {
            assert_eq!(
                svg.matches(&format!("stroke=\"{colour}\" stroke-width=\"2\"")).count(),
                1,
                "{colour}"
            );
            assert!(svg.contains(&format!("fill=\"{colour}\">{}<", line.name)), "{colour}");
        }
        let mut names = places_of_names(&lines, &Scales::of(&lines, false));
        names.sort_by(f64::total_cmp);
        assert!(names.windows(2).all(|pair| pair[1] - pair[0] > NAME_HEIGHT - 0.01), "{names:?}");
        assert!(names.iter().all(|at| (TOP..=BOTTOM).contains(at)), "{names:?}");
    }
}
