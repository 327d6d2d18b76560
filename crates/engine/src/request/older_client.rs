//! Reads requests of older clients as those clients meant them.

use beads_core::Op;
use beads_core::op::DepRole;

use super::{Call, Request};
use crate::version_numbers::version_numbers;

/// The first version that sends `depends-on:ID` for a bead that waits, and `blocks:ID` for one that others wait for. Earlier
/// ones send `blocks:ID` for a bead that waits.
const ROLES_SINCE: [u64; 2] = [0, 10];

impl Request {
    /// Replaces what has another meaning in the version of the client.
    pub fn adapt_to_client(&mut self) {
        if version_numbers(&self.client).as_slice() < ROLES_SINCE.as_slice() {
            adapt(&mut self.call);
        }
    }
}

fn adapt(call: &mut Call) {
    let ops = match call {
        Call::Mutate(mutate) => &mut mutate.ops,
        Call::Atomic(atomic) => &mut atomic.ops,
        Call::Each(each) => &mut each.ops,
        Call::Wait { call, .. } | Call::Confirm { call } => return adapt(call),
        _ => return,
    };
    for op in ops {
        if let Op::Create(create) = op {
            for dep in create.deps.iter_mut().filter(|dep| dep.role == DepRole::Blocks) {
                dep.role = DepRole::DependsOn;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_dependency_of_an_older_client_points_to_the_bead_it_waits_for() {
        for (client, role) in
            [("0.9.0", DepRole::DependsOn), ("0.10.0", DepRole::Blocks), ("1.0.0", DepRole::Blocks)]
        {
            let create = json!({"op": "create", "title": "B", "deps": ["blocks:bd-a"]});
            let mutate = json!({"mutate": {"ops": [create]}});
            let request =
                json!({"client": client, "actor": "ann", "call": {"wait": {"ms": 1, "call": mutate}}});
            let mut request: Request = serde_json::from_value(request).unwrap();
            request.adapt_to_client();
            let Call::Wait { call, .. } = request.call else { panic!("the call is a wait") };
            let Call::Mutate(mutate) = *call else { panic!("it waits for a mutation") };
            let [Op::Create(create)] = mutate.ops.as_slice() else { panic!("there is one operation") };
            assert_eq!(create.deps[0].role, role, "{client}");
        }
    }
}
