use crate::{Bead, Catalog, Context, Error, Lineage, Result, Text};

/// Refuses a write that would end another actor's running lease, unless it is forced with a reason. The
/// reason is recorded for the actor who loses the claim.
pub(super) fn check_lease(
    catalog: &Catalog,
    lineage: &Lineage,
    bead: &Bead,
    context: &Context<'_>,
    force: Option<&Text>,
) -> Result<()> {
    let Some(holder) = bead.claim.held_by_other(&context.actor, context.lease_now_ms()) else {
        return Ok(());
    };
    match force {
        None => Err(Error::NotHolder { id: catalog.id_of(lineage).clone(), holder: holder.clone() }),
        Some(reason) if reason.is_empty() => {
            Err(Error::invalid("reason", format!("it is missing; say why {holder} loses the claim")))
        }
        Some(_) => Ok(()),
    }
}
