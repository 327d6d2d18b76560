//! Claims that the hub decides.

use tokio_postgres::types::Type;

use super::{CALL_TIMEOUT, PostgresHub, column, signed, within};
use crate::hub::outgoing::lineage_key;
use crate::hub::{ClaimAnswer, ClaimRequest, Fetched, Grant, HubCursor};
use crate::{Error, Result};

impl PostgresHub {
    /// Asks for one of several beads, and fetches the deltas after `known` in the same round trip. They contain the
    /// grant, or what the machine did not know when it asked.
    pub fn claim_and_fetch(
        &mut self,
        seq: u64,
        cursor: &HubCursor,
        request: &ClaimRequest,
        known: &HubCursor,
    ) -> Result<(ClaimAnswer, Fetched)> {
        let all = async {
            tokio::join!(
                self.asked_for_claim(seq, cursor, request),
                self.notified(),
                self.fetched_since(known)
            )
        };
        let (answer, (), fetched) = within(&self.runtime, CALL_TIMEOUT, all)?;
        Ok((answer?, fetched?))
    }

    pub(super) async fn asked_for_claim(
        &self,
        seq: u64,
        cursor: &HubCursor,
        request: &ClaimRequest,
    ) -> Result<ClaimAnswer> {
        let (seq, n, lease) = (signed(seq), signed(cursor.n), signed(request.lease_ms));
        let lineages: Vec<String> = request.candidates.iter().map(|(one, _)| lineage_key(one)).collect();
        let above: Vec<i64> = request.candidates.iter().map(|(_, stamp)| signed(stamp.ms())).collect();
        let holder = request.holder.as_str();
        let parameters: [(&(dyn tokio_postgres::types::ToSql + Sync), Type); 10] = [
            (&self.attachment.member.store, Type::TEXT),
            (&self.attachment.member.replica, Type::TEXT),
            (&self.attachment.epoch, Type::INT4),
            (&seq, Type::INT8),
            (&request.id, Type::TEXT),
            (&n, Type::INT8),
            (&holder, Type::TEXT),
            (&lease, Type::INT8),
            (&lineages, Type::TEXT_ARRAY),
            (&above, Type::INT8_ARRAY),
        ];
        let sql = "SELECT beads.claim($1, $2::uuid, $3, $4, $5, $6, $7, $8, $9, $10)::text";
        let row = Self::one(self.rows(sql, &parameters).await?)?;
        parse(column(&row, 0)?, request)
    }
}

/// Parses the answer to a claim.
fn parse(text: &str, request: &ClaimRequest) -> Result<ClaimAnswer> {
    let invalid = |reason: &str| Error::HubInvalid(format!("the answer to a claim {reason}"));
    let answer: serde_json::Value = serde_json::from_str(text).map_err(|_| invalid("is not JSON"))?;
    let whole = |name: &str| answer[name].as_i64().ok_or_else(|| invalid("lacks a number"));
    match answer["status"].as_str().unwrap_or_default() {
        "granted" => {
            let index = usize::try_from(whole("index")?).unwrap_or(usize::MAX);
            let (lineage, _) = request.candidates.get(index).ok_or_else(|| invalid("names no candidate"))?;
            let fence = (whole("fence_ms")?, whole("fence_counter")?);
            let holder = request.holder.as_str();
            let grant = Grant::parse(&lineage_key(lineage), holder, fence, whole("until_ms")?)?;
            let n = u64::try_from(whole("n")?).map_err(|_| invalid("has a negative number"))?;
            let token = answer["token"].as_str().unwrap_or_default().to_owned();
            Ok(ClaimAnswer::Granted(Box::new(grant), HubCursor { n, token }))
        }
        "behind" => Ok(ClaimAnswer::Behind),
        "hold" => Ok(ClaimAnswer::Hold(u64::try_from(whole("left_ms")?).unwrap_or_default())),
        "taken" => {
            let holder = answer["holder"].as_str().and_then(|holder| holder.parse().ok());
            let until = answer["until_ms"].as_u64();
            let until = until.and_then(|ms| beads_core::Timestamp::from_ms(ms).ok());
            Ok(ClaimAnswer::Taken(holder, until))
        }
        _ => Err(invalid("has an unknown status")),
    }
}
