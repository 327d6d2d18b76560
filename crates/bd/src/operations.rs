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
    /// Needs nothing from the calling process, except with some of its options, so that the daemon can parse
    /// the command line.
    pub forwarded: bool,
    /// Where `bd --help` lists the verb. Subcommands have no topic.
    pub topic: Option<Topic>,
    /// Other names of the verb.
    pub aliases: &'static [&'static str],
}

/// A heading of `bd --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Topic {
    Work,
    Look,
    Plan,
    History,
    Share,
    Agents,
    Maintain,
}

impl Topic {
    /// The topics in the order of `bd --help`.
    pub const ALL: [Self; 7] =
        [Self::Work, Self::Look, Self::Plan, Self::History, Self::Share, Self::Agents, Self::Maintain];
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
            forwarded: false,
            topic: None,
            aliases: &[],
        }
    }

    /// Returns whether this is the name of the verb or one of its aliases.
    pub fn is_called(&self, name: &str) -> bool {
        self.verb == name || self.aliases.contains(&name)
    }

    pub fn changes(&self) -> bool {
        self.effect == Effect::Changes
    }
}

/// Returns the row of a JSON tool.
pub fn of_tool(name: &str) -> Option<&'static Operation> {
    TABLE.iter().find(|row| row.tool == Some(name))
}

/// The table, by topic, most used first: `bd --help` has the same order. Each verb names its file in `cli/`,
/// its aliases, and how its arguments are run:
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
                Work {
                    Create = create.read, "create" | "new" | "add", Changes {
                        tool: Some("beads.create"), portal: Some("make"), ops: &["create"], dry_run: true,
                        forwarded: true
                    };
                    Ready = ready.call, "ready", Reads { tool: Some("beads.ready"), forwarded: true };
                    Claim = claim.call, "claim", Changes {
                        tool: Some("beads.claim"), portal: Some("next"), ops: &["claim", "claim_next"],
                        idempotent: true, forwarded: true
                    };
                    Next = next.call, "next", Changes { idempotent: true, forwarded: true };
                    Close = close.read, "close" | "done", Changes {
                        tool: Some("beads.close"), portal: Some("done"), ops: &["close"], idempotent: true,
                        forwarded: true
                    };
                    Update = update.read, "update", Changes {
                        tool: Some("beads.update"), ops: &["update"], forwarded: true
                    };
                    Edit = edit.run, "edit", Changes {};
                    Note = note.note, "note", Changes {
                        tool: Some("beads.note_add"), portal: Some("note"), ops: &["note_add"], forwarded: true
                    };
                    Ask = ask.run, "ask", Changes { tool: Some("beads.ask"), ops: &["ask"] };
                    Answer = answer.read, "answer", Changes { tool: Some("beads.answer"), ops: &["answer"] };
                    Unclaim = unclaim.read, "unclaim", Changes {
                        tool: Some("beads.unclaim"), ops: &["unclaim"], forwarded: true
                    };
                    Renew = renew.call, "renew", Changes {
                        ops: &["renew"], idempotent: true, forwarded: true
                    };
                    Handover = handover.read, "handover", Changes {
                        tool: Some("beads.handover"), ops: &["hand_over"], forwarded: true
                    };
                    Wait = wait.call, "wait", Changes {};
                    Reopen = reopen.read, "reopen", Changes {
                        tool: Some("beads.reopen"), ops: &["reopen"], idempotent: true, forwarded: true
                    };
                    Cancel = cancel.read, "cancel", Changes {
                        tool: Some("beads.cancel"), ops: &["cancel"], forwarded: true
                    };
                    Delete = delete.read, "delete" | "rm", Changes {
                        tool: Some("beads.delete"), ops: &["delete"], dry_run: true, destructive: true,
                        forwarded: true
                    };
                    Restore = restore.read, "restore", Changes {
                        tool: Some("beads.restore"), ops: &["restore"], forwarded: true
                    };
                    Comment = note.comment, "comment" | "comments", Changes { forwarded: true };
                    Batch = batch.run, "batch", Changes { dry_run: true };
                }
                Look {
                    Show = show.call, "show", Reads { tool: Some("beads.show"), forwarded: true };
                    List = list.call_with_globals, "list" | "ls", Reads {
                        tool: Some("beads.list"), forwarded: true
                    };
                    Mine = mine.call, "mine", Reads { forwarded: true };
                    Search = search.call, "search", Reads { tool: Some("beads.search"), forwarded: true };
                    Status = status.call, "status" | "stats", Reads {
                        portal: Some("status"), forwarded: true
                    };
                    Top = top.run, "top", Reads {};
                    Recap = recap.call, "recap", Reads {};
                    Board = board.run, "board", Acts {};
                    Questions = questions.call, "questions", Reads { tool: Some("beads.questions") };
                    Blocked = blocked.call, "blocked", Reads { forwarded: true };
                    Children = children.call, "children", Reads { forwarded: true };
                    Count = count.call, "count", Reads { forwarded: true };
                    Stale = stale.call, "stale", Reads { forwarded: true };
                    Deleted = deleted.call, "deleted", Reads { forwarded: true };
                    Watch = watch.run, "watch", Reads { tool: Some("beads.watch") };
                }
                Plan {
                    Dep = dep.call, "dep", Changes { forwarded: true };
                    Epic = epic.call, "epic", Changes { forwarded: true };
                    Label = label.call, "label", Changes { forwarded: true };
                    Graph = graph.call, "graph", Reads {};
                    Plan = plan.call, "plan", Reads {};
                }
                History {
                    Log = log.call, "log" | "history", Reads { forwarded: true };
                    Activity = activity.call_with_globals, "activity", Reads {};
                    Blame = blame.call, "blame", Reads { forwarded: true };
                    Diff = diff.call, "diff", Reads {};
                    Undo = undo.call, "undo", Changes { ops: &["undo"], dry_run: true, destructive: true };
                }
                Share {
                    Sync = sync.call_with_globals, "sync", Changes { tool: Some("beads.sync") };
                    Hub = hub.run, "hub", Acts {};
                    Conflicts = conflicts.call, "conflicts", Changes {
                        tool: Some("beads.conflicts"), ops: &["conflict_dismiss", "conflict_restore"]
                    };
                    Export = export.run, "export", Reads { tool: Some("beads.export") };
                    Import = import.run, "import", Changes { tool: Some("beads.import"), dry_run: true };
                }
                Agents {
                    Agents = agents.run, "agents", Reads {};
                    Setup = setup.run, "setup", Acts {};
                    Prime = prime.run, "prime", Reads {};
                    Remember = remember.read, "remember", Changes { forwarded: true };
                    Recall = recall.call, "recall", Reads { forwarded: true };
                    Forget = forget.run, "forget", Changes {};
                    Session = session.run, "session", Acts {};
                    Heartbeat = heartbeat.call, "heartbeat", Acts { forwarded: true };
                    Reclaim = reclaim.call, "reclaim", Changes { dry_run: true, forwarded: true };
                    Mcp = mcp.run, "mcp", Acts {};
                    Tool = tool.run, "tool", Acts {};
                    Call = call.run, "call", Acts {};
                    Hook = hook.run, "hook", Acts {};
                    Onboard = onboard.run, "onboard", Reads {};
                }
                Maintain {
                    Init = init.run, "init", Acts {};
                    Config = config.call, "config", Changes { ops: &["set_prefix", "set_setting"] };
                    Doctor = doctor.run, "doctor", Acts {};
                    Info = info.run, "info", Reads {};
                    Where = place.run, "where", Reads {};
                    Daemon = daemon.run, "daemon", Acts {};
                    Validate = validate.call, "validate", Reads { tool: Some("beads.validate") };
                    Verify = verify.call, "verify", Reads {};
                    Repair = repair.call, "repair", Changes {
                        ops: &["reset_gc_floor"], needs_apply: true, dry_run: true, destructive: true
                    };
                    Archive = archive.call, "archive", Changes {
                        ops: &["archive"], dry_run: true, idempotent: true
                    };
                    RepairDeps = repair_deps.call, "repair-deps", Changes {};
                    Migrate = migrate.run, "migrate", Changes { ops: &["raise_format"] };
                    Uninstall = uninstall.run, "uninstall", Changes { dry_run: true, destructive: true };
                    Completions = completions.run, "completions", Reads {};
                    #[command(hide = true)]
                    Complete = complete.run, "complete", Reads {};
                    Man = man.run, "man", Acts {};
                    Quickstart = quickstart.run, "quickstart", Reads {};
                    Demo = demo.run, "demo", Acts {};
                    Version = version.run, "version", Reads {};
                    Upgrade = upgrade.run, "upgrade", Reads {};
                }
            }
            subcommands {
                "dep add", Changes { tool: Some("beads.dep_add"), ops: &["dep_add"], idempotent: true };
                "dep remove", Changes {
                    tool: Some("beads.dep_remove"), ops: &["dep_remove"], idempotent: true
                };
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
        verbs {$($topic:ident {$(
            $(#[$meta:meta])*
            $variant:ident = $file:ident.$way:ident, $verb:literal $(| $alias:literal)*, $effect:ident {$($own:tt)*};
        )*})*}
        subcommands {$($below:literal, $effect_below:ident {$($own_below:tt)*};)*}
    ) => {
        /// All operations: the verbs in the order of `bd --help`, then the subcommands.
        pub const TABLE: &[Operation] = &[
            $($(Operation {
                topic: Some(Topic::$topic),
                aliases: &[$($alias),*],
                ..row!($verb, $effect, $($own)*)
            },)*)*
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
