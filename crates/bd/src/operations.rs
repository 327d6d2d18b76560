//! The table of operations: one row each, with its name on every interface and its effects. The command line
//! is generated from the table. The JSON tools, MCP and the tests that cover all operations look up its rows
//! or are checked against it.

/// What an operation may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Only reads.
    Reads,
    /// Changes beads or the store. As a JSON tool it needs `--apply`.
    Changes,
    /// Acts on this machine (files, processes, sessions) without changing beads.
    Acts,
}

/// One row of the table.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// The verb as typed after `bd`, or after `bb` for agents' mail and reservations.
    pub verb: &'static str,
    pub effect: Effect,
    /// The name of the JSON tool. The MCP tool has `_` instead of `.`.
    pub tool: Option<&'static str>,
    /// The everyday MCP tool (portal) that includes this operation.
    pub portal: Option<&'static str>,
    /// The names of the operation in socket requests and batches.
    pub ops: &'static [&'static str],
    /// The verb only shows its plan unless `--apply` is given.
    pub needs_apply: bool,
    /// The verb has `--dry-run`.
    pub dry_run: bool,
    /// Removes something that does not come back by itself. No hint may suggest it.
    pub destructive: bool,
    /// Repeating the operation has no further effect.
    pub idempotent: bool,
}

impl Operation {
    const fn new(verb: &'static str, effect: Effect) -> Self {
        Self {
            verb,
            effect,
            tool: None,
            portal: None,
            ops: &[],
            needs_apply: false,
            dry_run: false,
            destructive: false,
            idempotent: false,
        }
    }

    pub fn changes(&self) -> bool {
        self.effect == Effect::Changes
    }
}

/// Returns the row of a JSON tool.
pub fn of_tool(name: &str) -> Option<&'static Operation> {
    TABLE.iter().find(|row| row.tool == Some(name))
}

/// The table. Each verb names its file in `cli/` and how its arguments are run:
/// - `call`: they become a call on the store;
/// - `call_with_globals`: the same, but the call depends on the global options;
/// - `read`: the same, but texts may come from files and standard input;
/// - `run`: the verb runs in this process.
///
/// Operations without a top-level verb follow: subcommands of other verbs, and those of `bb`.
macro_rules! operations {
    ($with:ident) => {
        $with! {
            verbs {
                Init = init.run, "init", Acts {};
                #[command(visible_aliases = ["new", "add"])]
                Create = create.read, "create", Changes {
                    tool: Some("beads.create"), portal: Some("make"), ops: &["create"], dry_run: true
                };
                Update = update.read, "update", Changes { tool: Some("beads.update"), ops: &["update"] };
                Edit = edit.run, "edit", Changes {};
                Show = show.call, "show", Reads { tool: Some("beads.show") };
                #[command(visible_alias = "ls")]
                List = list.call_with_globals, "list", Reads { tool: Some("beads.list") };
                Search = search.call, "search", Reads { tool: Some("beads.search") };
                Ready = ready.call, "ready", Reads { tool: Some("beads.ready") };
                Blocked = blocked.call, "blocked", Reads {};
                Mine = mine.call, "mine", Reads {};
                Claim = claim.call, "claim", Changes {
                    tool: Some("beads.claim"), portal: Some("next"), ops: &["claim", "claim_next"], idempotent: true
                };
                Next = next.call, "next", Changes { idempotent: true };
                Renew = renew.call, "renew", Changes { ops: &["renew"], idempotent: true };
                Unclaim = unclaim.read, "unclaim", Changes { tool: Some("beads.unclaim"), ops: &["unclaim"] };
                Reclaim = reclaim.call, "reclaim", Changes { dry_run: true };
                Heartbeat = heartbeat.call, "heartbeat", Acts {};
                Session = session.run, "session", Acts {};
                #[command(visible_alias = "done")]
                Close = close.read, "close", Changes {
                    tool: Some("beads.close"), portal: Some("done"), ops: &["close"], idempotent: true
                };
                Cancel = cancel.read, "cancel", Changes { tool: Some("beads.cancel"), ops: &["cancel"] };
                Handover = handover.read, "handover", Changes { tool: Some("beads.handover"), ops: &["hand_over"] };
                Ask = ask.run, "ask", Changes { tool: Some("beads.ask"), ops: &["ask"] };
                Answer = answer.read, "answer", Changes { tool: Some("beads.answer"), ops: &["answer"] };
                Questions = questions.call, "questions", Reads { tool: Some("beads.questions") };
                Wait = wait.call, "wait", Changes {};
                Reopen = reopen.read, "reopen", Changes {
                    tool: Some("beads.reopen"), ops: &["reopen"], idempotent: true
                };
                #[command(visible_alias = "rm")]
                Delete = delete.read, "delete", Changes {
                    tool: Some("beads.delete"), ops: &["delete"], dry_run: true, destructive: true
                };
                Restore = restore.read, "restore", Changes { tool: Some("beads.restore"), ops: &["restore"] };
                Deleted = deleted.call, "deleted", Reads {};
                Note = note.note, "note", Changes {
                    tool: Some("beads.note_add"), portal: Some("note"), ops: &["note_add"]
                };
                #[command(visible_alias = "comments")]
                Comment = note.comment, "comment", Changes {};
                Remember = remember.read, "remember", Changes {};
                Recall = recall.call, "recall", Reads {};
                Forget = forget.run, "forget", Changes {};
                Label = label.call, "label", Changes {};
                Dep = dep.call, "dep", Changes {};
                #[command(visible_alias = "history")]
                Log = log.call, "log", Reads {};
                Activity = activity.call_with_globals, "activity", Reads {};
                Recap = recap.call, "recap", Reads {};
                Agents = agents.run, "agents", Reads {};
                Board = board.run, "board", Acts {};
                Blame = blame.call, "blame", Reads {};
                Diff = diff.call, "diff", Reads {};
                Undo = undo.call, "undo", Changes { ops: &["undo"], dry_run: true, destructive: true };
                Graph = graph.call, "graph", Reads {};
                Plan = plan.call, "plan", Reads {};
                Children = children.call, "children", Reads {};
                Epic = epic.call, "epic", Changes {};
                Count = count.call, "count", Reads {};
                Stale = stale.call, "stale", Reads {};
                #[command(visible_alias = "stats")]
                Status = status.call, "status", Reads { portal: Some("status") };
                Top = top.run, "top", Reads {};
                Watch = watch.run, "watch", Reads { tool: Some("beads.watch") };
                Where = place.run, "where", Reads {};
                Info = info.run, "info", Reads {};
                Config = config.call, "config", Changes { ops: &["set_prefix", "set_setting"] };
                Import = import.run, "import", Changes { tool: Some("beads.import"), dry_run: true };
                Export = export.run, "export", Reads { tool: Some("beads.export") };
                Sync = sync.call_with_globals, "sync", Changes { tool: Some("beads.sync") };
                Hub = hub.run, "hub", Acts {};
                Conflicts = conflicts.call, "conflicts", Changes {
                    tool: Some("beads.conflicts"), ops: &["conflict_dismiss", "conflict_restore"]
                };
                Verify = verify.call, "verify", Reads {};
                Validate = validate.call, "validate", Reads { tool: Some("beads.validate") };
                Repair = repair.call, "repair", Changes {
                    ops: &["reset_gc_floor"], needs_apply: true, dry_run: true, destructive: true
                };
                Uninstall = uninstall.run, "uninstall", Changes { dry_run: true, destructive: true };
                RepairDeps = repair_deps.call, "repair-deps", Changes {};
                Doctor = doctor.run, "doctor", Acts {};
                Migrate = migrate.run, "migrate", Changes { ops: &["raise_format"] };
                Daemon = daemon.run, "daemon", Acts {};
                Mcp = mcp.run, "mcp", Acts {};
                Setup = setup.run, "setup", Acts {};
                Prime = prime.run, "prime", Reads {};
                Hook = hook.run, "hook", Acts {};
                Quickstart = quickstart.run, "quickstart", Reads {};
                Onboard = onboard.run, "onboard", Reads {};
                Batch = batch.run, "batch", Changes { dry_run: true };
                Call = call.run, "call", Acts {};
                Tool = tool.run, "tool", Acts {};
                Version = version.run, "version", Reads {};
                Upgrade = upgrade.run, "upgrade", Reads {};
                Completions = completions.run, "completions", Reads {};
                #[command(hide = true)]
                Complete = complete.run, "complete", Reads {};
                Man = man.run, "man", Acts {};
                Demo = demo.run, "demo", Acts {};
            }
            subcommands {
                "dep add", Changes { tool: Some("beads.dep_add"), ops: &["dep_add"], idempotent: true };
                "dep remove", Changes { tool: Some("beads.dep_remove"), ops: &["dep_remove"], idempotent: true };
                "dep tree", Reads { tool: Some("beads.dep_tree") };
                "epic close-eligible", Changes { dry_run: true };
                "tool install", Acts { dry_run: true };
                "agent register", Changes { tool: Some("agent.register") };
                "agent list", Reads { tool: Some("agent.list") };
                "agent show", Reads { tool: Some("agent.show") };
                "agent send", Changes { tool: Some("agent.send"), portal: Some("mail") };
                "agent inbox", Reads { tool: Some("agent.inbox") };
                "agent read", Changes { tool: Some("agent.read"), idempotent: true };
                "agent ack", Changes { tool: Some("agent.ack"), idempotent: true };
                "agent reserve", Changes { tool: Some("agent.reserve") };
                "agent release", Changes { tool: Some("agent.release") };
                "agent status", Reads { tool: Some("agent.status") };
                "agent guard", Reads { tool: Some("agent.guard") };
            }
        }
    };
}
pub(crate) use operations;

macro_rules! table {
    (
        verbs {$($(#[$meta:meta])* $variant:ident = $file:ident.$way:ident, $verb:literal, $effect:ident {$($own:tt)*};)*}
        subcommands {$($below:literal, $effect_below:ident {$($own_below:tt)*};)*}
    ) => {
        /// All operations: the verbs in the order of `bd --help`, then the subcommands.
        pub const TABLE: &[Operation] = &[
            $(row!($verb, $effect, $($own)*),)*
            $(row!($below, $effect_below, $($own_below)*),)*
        ];
    };
}

macro_rules! row {
    ($verb:literal, $effect:ident,) => {
        Operation::new($verb, Effect::$effect)
    };
    ($verb:literal, $effect:ident, $($own:tt)+) => {
        Operation { $($own)+, ..Operation::new($verb, Effect::$effect) }
    };
}

operations!(table);
