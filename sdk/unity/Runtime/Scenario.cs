using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>A scenario that a player can start.</summary>
    public sealed class Scenario
    {
        private readonly TierwayOptions options;
        private readonly Caller caller;

        internal Scenario(TierwayOptions options, Caller caller, string scenarioId)
        {
            this.options = options;
            this.caller = caller;
            ScenarioId = scenarioId;
        }

        public string ScenarioId { get; private set; }

        /// <summary>Starts a run, or resumes the active one.</summary>
        public async Task<ScenarioSession> StartAsync(
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var call = new Call
            {
                Path = "/sdk/v1/scenarios/start",
                Body = new JsonWriter().BeginObject().Name("scenarioId").Value(ScenarioId).EndObject().ToString(),
                IsOfPlayer = true,
                IsChanging = true,
                Key = Caller.KeyOr(idempotencyKey),
                Options = callOptions,
            };
            var own = caller.OfPlayer();
            var session = await own.MakeAsync(
                call,
                started => new ScenarioSession(options, own, ScenarioId, started),
                cancellationToken);
            if (session.Resumed || session.Plan == null) await session.RefreshAsync(callOptions, cancellationToken);
            return session;
        }

        /// <summary>
        /// A session for a run whose id the game has stored, without a call: for a game that starts offline.
        /// <see cref="ScenarioSession.RefreshAsync"/> reads what the session does not know yet.
        /// </summary>
        public ScenarioSession Open(string runId)
        {
            if (string.IsNullOrEmpty(runId)) throw new ArgumentException("a run needs an id", "runId");
            return new ScenarioSession(options, caller.OfPlayer(), ScenarioId, runId);
        }
    }

    /// <summary>
    /// A run of a scenario. Its calls add the ids of scenario, node and run. While another player is logged in, they
    /// throw <see cref="ErrorCodes.NotSignedIn"/>.
    /// </summary>
    public sealed class ScenarioSession
    {
        private const string PassType = "battle-pass";
        private const string LevelType = "battle-pass-level";

        private readonly TierwayOptions options;
        private readonly object gate = new object();
        private readonly Dictionary<string, BattlePass> passes = new Dictionary<string, BattlePass>();
        private readonly Dictionary<string, LevelNode> levels = new Dictionary<string, LevelNode>();
        /// <summary>Passes and level nodes whose completion was raised. Each completes once.</summary>
        private readonly HashSet<string> completed = new HashSet<string>();
        /// <summary>
        /// Given keys of calls whose answers were taken in. A repetition has the same crossings, which were raised.
        /// </summary>
        private readonly HashSet<string> takenKeys = new HashSet<string>();
        private readonly Following following;
        private string status;
        private ExecutionPlan plan;
        private ScenarioNode[] active = new ScenarioNode[0];
        /// <summary>Whether the session knows all active nodes: the run was read, or begun by its start.</summary>
        private bool isRead;

        internal ScenarioSession(TierwayOptions options, Caller caller, string scenarioId, string runId)
        {
            this.options = options;
            Caller = caller;
            ScenarioId = scenarioId;
            RunId = runId;
            Resumed = true;
            status = RunStatus.Active;
            following = new Following(options.Transport, Raise);
        }

        internal ScenarioSession(TierwayOptions options, Caller caller, string scenarioId, JsonValue started)
            : this(options, caller, scenarioId, started.Text("runId"))
        {
            Resumed = started.Flag("resumed");
            isRead = !Resumed;
            plan = started.Plan("plan");
            var next = started["next"];
            if (next != null && !next.IsNull)
            {
                NextScenarioId = next.Text("scenarioId");
                NextRunId = next.Text("runId");
            }
            if (plan == null) return;
            status = plan.Status;
            Merge(plan);
        }

        /// <summary>A handle was crossed: by a call of this session, or by any device while it follows.</summary>
        public event Action<Crossing> Crossed;

        /// <summary>
        /// A node was entered by a call of this session. Types that the service does not run are for the game.
        /// </summary>
        public event Action<ScenarioNode> Entered;

        /// <summary>Rewards were granted by a call of this session. A repeated claim grants nothing.</summary>
        public event Action<IReadOnlyList<Reward>> Granted;

        /// <summary>Boosts of the player were granted by a call of this session.</summary>
        public event Action<IReadOnlyList<RewardBoost>> Boosted;

        /// <summary>The run is over. Raised once, with the status: see <see cref="RunStatus"/>.</summary>
        public event Action<string> Ended;

        public string ScenarioId { get; private set; }

        public string RunId { get; private set; }

        /// <summary>Whether the run was active before. If so, its plan took effect before, too.</summary>
        public bool Resumed { get; private set; }

        /// <summary>
        /// The scenario of the season that follows, once the season of this one has ended: its run has been started, too.
        /// Null without one.
        /// </summary>
        public string NextScenarioId { get; private set; }

        /// <summary>The run of that scenario, for <see cref="Scenario.Open"/>. Null without one.</summary>
        public string NextRunId { get; private set; }

        /// <summary>The status in the last answer: see <see cref="RunStatus"/>.</summary>
        public string Status
        {
            get
            {
                lock (gate) return status;
            }
        }

        /// <summary>Nodes that were entered and not left, by the last answer.</summary>
        public IReadOnlyList<ScenarioNode> Active
        {
            get
            {
                lock (gate) return active;
            }
        }

        /// <summary>The last plan, at first that of the start. Null when there was none.</summary>
        public ExecutionPlan Plan
        {
            get
            {
                lock (gate) return plan;
            }
        }

        internal Caller Caller { get; private set; }

        /// <summary>A battle pass of the scenario: the same object for the same node.</summary>
        public BattlePass BattlePass(string nodeId)
        {
            if (string.IsNullOrEmpty(nodeId)) throw new ArgumentException("a node needs an id", "nodeId");
            lock (gate)
            {
                BattlePass found;
                if (!passes.TryGetValue(nodeId, out found))
                    passes[nodeId] = found = new BattlePass(options, this, nodeId);
                return found;
            }
        }

        /// <summary>A level node of the scenario: the same object for the same node.</summary>
        public LevelNode Level(string nodeId)
        {
            if (string.IsNullOrEmpty(nodeId)) throw new ArgumentException("a node needs an id", "nodeId");
            lock (gate)
            {
                LevelNode found;
                if (!levels.TryGetValue(nodeId, out found))
                    levels[nodeId] = found = new LevelNode(options, this, nodeId);
                return found;
            }
        }

        /// <summary>
        /// Crosses a handle of an active node that the game runs. Returns the plan; null when nothing was crossed.
        /// </summary>
        public async Task<ExecutionPlan> CrossAsync(
            string nodeId,
            string handle,
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var call = new Call
            {
                Path = "/sdk/v1/scenarios/cross",
                Body = Begin(nodeId).Name("handle").Value(handle).EndObject().ToString(),
                IsOfPlayer = true,
                IsChanging = true,
                Key = Caller.KeyOr(idempotencyKey),
                Options = callOptions,
            };
            return await DuringAsync(
                async () =>
                {
                    var crossed = await Caller.MakeAsync(call, answer => answer.Plan("plan"), cancellationToken);
                    Deliver(crossed, null, idempotencyKey);
                    return crossed;
                },
                cancellationToken);
        }

        /// <summary>
        /// Follows the run live, until it is cancelled. The session takes in what other devices of the player do, and
        /// raises the events of each crossing once, whichever device caused it. Several parts of a game may follow at
        /// once, and begin and end at any time, also during calls.
        /// </summary>
        /// <exception cref="TierwayException">A failure that does not pass by itself, as the end of the login.</exception>
        public async Task FollowAsync(CancellationToken cancellationToken = default(CancellationToken))
        {
            if (Caller.Lifetime.IsCancellationRequested) throw new ObjectDisposedException("TierwayClient");
            using (var both = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, Caller.Lifetime))
            {
                await following.FollowAsync(
                    token => EventStream.ReadEndAsync(Caller, token),
                    async (after, heard, token) =>
                    {
                        try
                        {
                            await RefreshAsync(null, token);
                        }
                        catch (TierwayException error)
                        {
                            // The next event brings what a read has missed.
                            if (!error.Retryable) throw;
                        }
                        var filter = new EventFilter { ScenarioId = ScenarioId };
                        var stream = new EventStream(options, Caller, one => TakeAsync(one, heard, token), after, filter);
                        await stream.ListenAsync(token);
                    },
                    both.Token);
            }
        }

        /// <summary>
        /// Reads the run again. Of the events it raises only <see cref="Ended"/>, since the others may have been raised
        /// before.
        /// </summary>
        public async Task RefreshAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            Learn(await ReadAsync(callOptions, cancellationToken));
        }

        /// <summary>A run as it was read.</summary>
        private sealed class ReadRun
        {
            public string Status;
            public ScenarioNode[] Active;
            public ExecutionPlan Plan;
        }

        private async Task<ReadRun> ReadAsync(CallOptions callOptions, CancellationToken cancellationToken)
        {
            var request = new JsonWriter().BeginObject().Name("runId").Value(RunId).EndObject().ToString();
            var body = await Caller.PostAsync("/sdk/v1/scenarios/run", request, callOptions, cancellationToken);
            return Caller.Understood(() => new ReadRun
            {
                Status = body.Text("status"),
                Active = body.List("active", ScenarioNode.Read).ToArray(),
                Plan = body.Plan("plan"),
            });
        }

        /// <summary>Returns the nodes that were active before.</summary>
        private ScenarioNode[] Learn(ReadRun read)
        {
            ScenarioNode[] before;
            bool isOver;
            lock (gate)
            {
                before = active;
                active = read.Active;
                plan = read.Plan;
                isRead = true;
                isOver = SetStatus(read.Status);
            }
            if (isOver) options.Raise(Ended, read.Status);
            return before;
        }

        /// <summary>Makes a call of this run, and takes in its answer, once the session allows it.</summary>
        internal Task<T> DuringAsync<T>(Func<Task<T>> call, CancellationToken cancellationToken)
        {
            return following.DuringAsync(call, cancellationToken);
        }

        /// <summary>Begins a request for a node of this run. The object is left open.</summary>
        internal JsonWriter Begin(string nodeId)
        {
            return new JsonWriter()
                .BeginObject()
                .Name("scenarioId")
                .Value(ScenarioId)
                .Name("nodeId")
                .Value(nodeId)
                .Name("runId")
                .Value(RunId);
        }

        /// <summary>Takes in a plan, and raises its events. The key is that of the game; null for none.</summary>
        internal void Deliver(ExecutionPlan delivered, LevelUp levelUp, string givenKey)
        {
            if (delivered == null || delivered.RunId != RunId) return;
            bool isOver;
            lock (gate)
            {
                if (givenKey != null && !takenKeys.Add(givenKey)) return;
                plan = delivered;
                Merge(delivered);
                isOver = SetStatus(delivered.Status);
            }
            if (isOver) options.Raise(Ended, delivered.Status);
            Show(delivered, levelUp);
            Grant(delivered.Granted, delivered.Boosts);
        }

        internal void Grant(IReadOnlyList<Reward> rewards, IReadOnlyList<RewardBoost> boosts)
        {
            if (rewards.Count > 0) options.Raise(Granted, rewards);
            if (boosts.Count > 0) options.Raise(Boosted, boosts);
        }

        /// <summary>What the session knows before a claim is sent.</summary>
        internal sealed class BeforeClaim
        {
            public string NodeId;
            /// <summary>The key that the game has given; null for none.</summary>
            public string GivenKey;
            /// <summary>Whether the claim is on a level node that waits for it, which completes it.</summary>
            public bool IsOnLevel;
            public ScenarioNode[] Active;
            public ExecutionPlan Plan;
            /// <summary>Whether the session knows all active nodes.</summary>
            public bool IsRead;
            /// <summary>Whether the node is known to be complete.</summary>
            public bool IsDone;

            /// <summary>Whether the claim can complete its pass, as far as is known.</summary>
            public bool MayCompletePass(int? level)
            {
                var node = Array.Find(Active, one => one.NodeId == NodeId);
                if (IsDone || node == null) return !IsDone && !IsRead;
                var top = node.Type == PassType ? TopLevelOf(node) : null;
                return level == null || top == null || level >= top;
            }
        }

        /// <summary>Call it when a claim is about to be sent.</summary>
        internal BeforeClaim NoteClaim(string nodeId, string givenKey)
        {
            lock (gate)
            {
                var isDone = completed.Contains(nodeId);
                return new BeforeClaim
                {
                    NodeId = nodeId,
                    GivenKey = givenKey,
                    IsOnLevel = !isDone && Array.Exists(active, one => one.NodeId == nodeId && one.Type == LevelType),
                    Active = active,
                    Plan = plan,
                    IsRead = isRead,
                    IsDone = isDone,
                };
            }
        }

        /// <summary>Whether the answer of a claim is to be taken in. That of a repetition with a key of the game was.</summary>
        internal bool IsNew(BeforeClaim claim)
        {
            lock (gate) return claim.GivenKey == null || takenKeys.Add("claim " + claim.GivenKey);
        }

        /// <summary>
        /// Takes in what a claim has caused. Its answer has no plan, so the run is read. A level node that waited for the
        /// claim is completed, also when the read fails, or has the plan of another claim by now.
        /// </summary>
        internal async Task TakeClaimAsync(BeforeClaim claim, bool isRepeat, CancellationToken cancellationToken)
        {
            ReadRun read = null;
            try
            {
                read = await ReadAsync(null, cancellationToken);
            }
            catch (TierwayException)
            {
                // A failure does not undo the claim.
            }
            catch (OperationCanceledException)
            {
                // The same.
            }
            var before = read == null ? Active : Learn(read);
            var isOwn = read != null && IsOf(claim, read.Plan) && Completes(read.Plan.Crossed[0].NodeId);
            var last = isOwn ? read.Plan : null;
            foreach (var node in claim.Active)
            {
                if (read == null || node.Type != LevelType || Contains(read.Active, node)) continue;
                if (Completes(node.NodeId)) AnswerComplete(node.NodeId);
            }
            if (claim.IsOnLevel && Completes(claim.NodeId)) AnswerComplete(claim.NodeId);
            if (last != null)
            {
                if (isRepeat) Grant(last.Granted, last.Boosts);
                Show(last, null);
            }
            if (read == null) return;
            foreach (var node in read.Active)
            {
                if (Contains(before, node) || (last != null && Contains(last.Entered, node))) continue;
                options.Raise(Entered, node);
            }
        }

        /// <summary>
        /// Whether a plan is that of a claim: it begins where a level node or a pass completes, and is not the one that was
        /// known before.
        /// </summary>
        private static bool IsOf(BeforeClaim claim, ExecutionPlan read)
        {
            if (read == null || read.Crossed.Count == 0 || read.Crossed[0].Handle != Handles.Complete) return false;
            if (!claim.IsRead) return read.Crossed[0].NodeId == claim.NodeId;
            var known = claim.Plan == null || claim.Plan.Crossed.Count == 0 ? null : claim.Plan.Crossed[0];
            return known == null || known.NodeId != read.Crossed[0].NodeId || known.Handle != Handles.Complete;
        }

        private static bool Contains(IEnumerable<ScenarioNode> nodes, ScenarioNode node)
        {
            return nodes.Any(one => one.NodeId == node.NodeId);
        }

        /// <summary>Notes that a level node or a pass completes. False when that was known: each completes once.</summary>
        private bool Completes(string nodeId)
        {
            lock (gate) return completed.Add(nodeId);
        }

        private void AnswerComplete(string nodeId)
        {
            following.Answered(new DetailedCrossing(new Crossing { NodeId = nodeId, Handle = Handles.Complete }, null));
        }

        private void Show(ExecutionPlan shown, LevelUp levelUp)
        {
            foreach (var crossing in shown.Crossed)
                Answer(crossing, crossing.Handle == Handles.LevelUp ? levelUp : null);
            foreach (var node in shown.Entered) options.Raise(Entered, node);
        }

        private void Answer(Crossing crossing, LevelUp levelUp)
        {
            lock (gate)
            {
                if (crossing.Handle == Handles.Complete) completed.Add(crossing.NodeId);
            }
            following.Answered(new DetailedCrossing(crossing, levelUp));
        }

        private void Raise(DetailedCrossing crossed)
        {
            var crossing = crossed.Crossing;
            BattlePass pass;
            LevelNode level;
            lock (gate)
            {
                passes.TryGetValue(crossing.NodeId, out pass);
                levels.TryGetValue(crossing.NodeId, out level);
                if (crossing.Handle == Handles.Complete) completed.Add(crossing.NodeId);
            }
            if (pass != null) pass.Deliver(crossing, crossed.LevelUp);
            if (level != null) level.Deliver(crossing);
            options.Raise(Crossed, crossing);
        }

        /// <summary>Takes in an event of the run, and raises its crossing.</summary>
        private async Task TakeAsync(
            TierwayEvent happened,
            Action<DetailedCrossing> heard,
            CancellationToken cancellationToken)
        {
            if (happened.RunId != RunId) return;
            var isCrossing = happened.NodeId != null && happened.Handle != null;
            if (!isCrossing && happened.Type != EventTypes.RunCancelled) return;
            try
            {
                await RefreshAsync(null, cancellationToken);
            }
            catch (TierwayException)
            {
                // The session stays as it was, until the next event.
            }
            if (!isCrossing) return;
            var levelUp = happened.LevelUp;
            BattlePass pass;
            lock (gate) passes.TryGetValue(happened.NodeId, out pass);
            if (pass != null && levelUp != null) pass.Remember(levelUp.Xp, levelUp.ToLevel);
            heard(new DetailedCrossing(happened.Crossing, levelUp));
        }

        /// <summary>Within the gate. Returns whether the run is over since now.</summary>
        private bool SetStatus(string now)
        {
            var isNew = status != now;
            status = now;
            return isNew && now != RunStatus.Active;
        }

        /// <summary>
        /// Updates the active nodes after a plan. A pass stays active when it completes: its player may still earn xp.
        /// </summary>
        private void Merge(ExecutionPlan merged)
        {
            var now = new List<ScenarioNode>(active);
            foreach (var crossing in merged.Crossed)
            {
                if (crossing.Handle != Handles.Complete) continue;
                now.RemoveAll(node => node.NodeId == crossing.NodeId && node.Type != PassType);
            }
            foreach (var node in merged.Entered)
            {
                if (Array.IndexOf(Contract.PassedTypes, node.Type) >= 0) continue;
                now.RemoveAll(one => one.NodeId == node.NodeId);
                now.Add(node);
            }
            active = now.ToArray();
        }

        private static int? TopLevelOf(ScenarioNode pass)
        {
            try
            {
                var all = pass.Data.Member("levels").Items;
                return all.Count == 0 ? (int?)null : all[all.Count - 1].Int32("level");
            }
            catch (JsonFormatException)
            {
                return null;
            }
        }
    }
}
