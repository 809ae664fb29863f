using System;
using System.Collections.Generic;
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
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var call = new Call
            {
                Path = "/sdk/v1/scenarios/start",
                Body = new JsonWriter().BeginObject().Name("scenarioId").Value(ScenarioId).EndObject().ToString(),
                IsOfPlayer = true,
                IsChanging = true,
                Key = Caller.KeyOr(idempotencyKey),
            };
            var body = await caller.MakeAsync(call, cancellationToken);
            var session = Caller.Understood(() => new ScenarioSession(options, caller, ScenarioId, body));
            if (session.Resumed || session.Plan == null) await session.RefreshAsync(cancellationToken);
            return session;
        }
    }

    /// <summary>A run of a scenario. Its calls add the ids of scenario, node and run.</summary>
    public sealed class ScenarioSession
    {
        private const string PassType = "battle-pass";
        /// <summary>Types of nodes that complete on entry, and so are never active afterwards.</summary>
        private static readonly string[] PassingTypes = { "start", "reward" };

        private readonly TierwayOptions options;
        private readonly object gate = new object();
        private readonly Dictionary<string, BattlePass> passes = new Dictionary<string, BattlePass>();
        private readonly Dictionary<string, LevelNode> levels = new Dictionary<string, LevelNode>();
        /// <summary>Passes and level nodes whose completion was raised. Each completes once.</summary>
        private readonly HashSet<string> completed = new HashSet<string>();
        private string status;
        private ExecutionPlan plan;
        private ScenarioNode[] active = new ScenarioNode[0];

        internal ScenarioSession(TierwayOptions options, Caller caller, string scenarioId, JsonValue started)
        {
            this.options = options;
            Caller = caller;
            ScenarioId = scenarioId;
            RunId = started.Text("runId");
            Resumed = started.Flag("resumed");
            status = RunStatus.Active;
            plan = started.Plan("plan");
            var next = started["next"];
            NextScenarioId = next == null || next.IsNull ? null : next.Text("scenarioId");
            if (plan != null) Follow(plan);
        }

        /// <summary>A handle was crossed by a call of this session.</summary>
        public event Action<Crossing> Crossed;

        /// <summary>
        /// A node was entered by a call of this session. Types that the service does not run are for the game.
        /// </summary>
        public event Action<ScenarioNode> Entered;

        /// <summary>Rewards were granted by a call of this session. A repeated claim grants nothing.</summary>
        public event Action<IReadOnlyList<Reward>> Granted;

        /// <summary>Boosts of the player were granted by a call of this session.</summary>
        public event Action<IReadOnlyList<RewardBoost>> Boosted;

        public string ScenarioId { get; private set; }

        public string RunId { get; private set; }

        /// <summary>Whether the run was active before. If so, its plan took effect before, too.</summary>
        public bool Resumed { get; private set; }

        /// <summary>
        /// The scenario of the season that follows, once the season of this one has ended: its run has been started, too.
        /// Null without one.
        /// </summary>
        public string NextScenarioId { get; private set; }

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
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var call = new Call
            {
                Path = "/sdk/v1/scenarios/cross",
                Body = Begin(nodeId).Name("handle").Value(handle).EndObject().ToString(),
                IsOfPlayer = true,
                IsChanging = true,
                Key = Caller.KeyOr(idempotencyKey),
            };
            var body = await Caller.MakeAsync(call, cancellationToken);
            var crossed = Caller.Understood(() => body.Plan("plan"));
            Deliver(crossed, null);
            return crossed;
        }

        /// <summary>Reads the run again. Raises no events, since they may have been raised before.</summary>
        public async Task RefreshAsync(CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = new JsonWriter().BeginObject().Name("runId").Value(RunId).EndObject().ToString();
            var body = await Caller.PostAsync("/sdk/v1/scenarios/run", request, cancellationToken);
            Caller.Understood(() =>
            {
                var read = body.List("active", ScenarioNode.Read);
                var last = body.Plan("plan");
                lock (gate)
                {
                    status = body.Text("status");
                    active = new List<ScenarioNode>(read).ToArray();
                    plan = last;
                }
                return true;
            });
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

        /// <summary>Raises the events of a plan.</summary>
        internal void Deliver(ExecutionPlan delivered, LevelUp levelUp)
        {
            if (delivered == null) return;
            lock (gate)
            {
                plan = delivered;
                status = delivered.Status;
                Follow(delivered);
            }
            Tell(delivered, levelUp);
            Grant(delivered.Granted, delivered.Boosts);
        }

        internal void Grant(IReadOnlyList<Reward> rewards, IReadOnlyList<RewardBoost> boosts)
        {
            if (rewards.Count > 0) options.Raise(Granted, rewards);
            if (boosts.Count > 0) options.Raise(Boosted, boosts);
        }

        /// <summary>
        /// Whether a claim on this node can complete it or its pass, as far as this session knows. Answers of claims
        /// carry no plan.
        /// </summary>
        internal bool MayComplete(string nodeId, int? levelOfPass)
        {
            lock (gate)
            {
                var node = Array.Find(active, one => one.NodeId == nodeId);
                if (node == null || completed.Contains(nodeId)) return false;
                if (node.Type != PassType) return true;
                var top = TopLevelOf(node);
                return levelOfPass == null || top == null || levelOfPass >= top;
            }
        }

        /// <summary>Reads what a claim has completed. A failure does not undo the claim.</summary>
        internal async Task CompleteAsync(string nodeId, CancellationToken cancellationToken)
        {
            try
            {
                await RefreshAsync(cancellationToken);
            }
            catch (TierwayException)
            {
                return;
            }
            catch (OperationCanceledException)
            {
                return;
            }
            var last = Plan;
            if (last == null) return;
            foreach (var crossing in last.Crossed)
            {
                if (crossing.NodeId != nodeId || crossing.Handle != Handles.Complete || IsCompleted(nodeId)) continue;
                Tell(last, null);
                return;
            }
        }

        private void Tell(ExecutionPlan told, LevelUp levelUp)
        {
            foreach (var crossing in told.Crossed)
            {
                BattlePass pass;
                LevelNode level;
                lock (gate)
                {
                    passes.TryGetValue(crossing.NodeId, out pass);
                    levels.TryGetValue(crossing.NodeId, out level);
                    if (crossing.Handle == Handles.Complete) completed.Add(crossing.NodeId);
                }
                if (pass != null) pass.Deliver(crossing, levelUp);
                if (level != null) level.Deliver(crossing);
                options.Raise(Crossed, crossing);
            }
            foreach (var node in told.Entered) options.Raise(Entered, node);
        }

        private bool IsCompleted(string nodeId)
        {
            lock (gate) return completed.Contains(nodeId);
        }

        /// <summary>
        /// Updates the active nodes after a plan. A pass stays active when it completes: its player may still earn xp.
        /// </summary>
        private void Follow(ExecutionPlan followed)
        {
            var now = new List<ScenarioNode>(active);
            foreach (var crossing in followed.Crossed)
            {
                if (crossing.Handle != Handles.Complete) continue;
                now.RemoveAll(node => node.NodeId == crossing.NodeId && node.Type != PassType);
            }
            foreach (var node in followed.Entered)
            {
                if (Array.IndexOf(PassingTypes, node.Type) >= 0) continue;
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
