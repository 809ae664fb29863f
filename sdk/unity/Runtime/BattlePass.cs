using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>
    /// A battle pass in a run. Every call that changes something takes effect once, however often it is sent.
    /// </summary>
    public sealed class BattlePass
    {
        private const string ClaimAllDocument =
            "mutation ClaimAll($input: ClaimAllInput!) { claimAll(input: $input) {"
            + " claimed { level track granted { amount currency itemId } boosts { percent minutes } } } }";
        private const int RememberedLevels = 16;

        private readonly TierwayOptions options;
        private readonly ScenarioSession session;
        private readonly object gate = new object();
        /// <summary>The levels of the latest xp totals, which give the level before an addition.</summary>
        private readonly Queue<KeyValuePair<long, int>> known = new Queue<KeyValuePair<long, int>>();
        private int? lastLevel;

        internal BattlePass(TierwayOptions options, ScenarioSession session, string nodeId)
        {
            this.options = options;
            this.session = session;
            NodeId = nodeId;
        }

        /// <summary>A higher level was reached, once per addition of xp, for any number of levels.</summary>
        public event Action<LevelUp> LevelUp;

        /// <summary>The top level was reached for the first time.</summary>
        public event Action<Crossing> MaxLevel;

        /// <summary>Every tier that is open to the player is claimed, at the top level.</summary>
        public event Action<Crossing> Complete;

        /// <summary>Premium was bought.</summary>
        public event Action<Crossing> PremiumPurchase;

        public string NodeId { get; private set; }

        /// <summary>The run of the pass.</summary>
        public ScenarioSession Session
        {
            get { return session; }
        }

        /// <summary>Reads level, xp, ownership and claimed tiers.</summary>
        public async Task<Progress> ProgressAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = session.Begin(NodeId).EndObject().ToString();
            var body = await session.Caller.PostAsync(
                "/sdk/v1/battlepass/progress",
                request,
                callOptions,
                cancellationToken);
            var progress = Caller.Understood(() => Progress.Read(body));
            Remember(progress.Xp, progress.Level);
            return progress;
        }

        /// <summary>Reads the dates of the season, and where it stands.</summary>
        public async Task<Season> SeasonAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = session.Begin(NodeId).EndObject().ToString();
            var body = await session.Caller.PostAsync(
                "/sdk/v1/battlepass/season",
                request,
                callOptions,
                cancellationToken);
            return Caller.Understood(() => Season.Read(body));
        }

        /// <summary>Adds xp.</summary>
        /// <param name="amount">1 or more.</param>
        /// <param name="source">The origin of the xp, such as <c>match</c>: up to 64 characters.</param>
        /// <param name="idempotencyKey">Default: a random one.</param>
        /// <param name="callOptions">Limits of this call alone.</param>
        /// <param name="cancellationToken">Ends the waiting. It is then unknown whether the xp was added.</param>
        public async Task<XpResult> AddXpAsync(
            long amount,
            string source = null,
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = session.Begin(NodeId).Name("amount").Value(amount);
            if (source != null) request.Name("source").Value(source);
            return await session.DuringAsync(
                async () =>
                {
                    var result = await ChangeAsync(
                        "/sdk/v1/battlepass/xp",
                        request,
                        XpResult.Read,
                        idempotencyKey,
                        callOptions,
                        cancellationToken);
                    Take(result, amount, source, idempotencyKey);
                    return result;
                },
                cancellationToken);
        }

        /// <summary>Takes in the answer to added xp. The key is the one that the game has given; null for none.</summary>
        internal void Take(XpResult result, long amount, string source, string givenKey)
        {
            var levelUp = new LevelUp
            {
                FromLevel = LevelAt(result.Xp - amount),
                ToLevel = result.Level,
                Xp = result.Xp,
                Source = source ?? "",
            };
            Remember(result.Xp, result.Level);
            session.Deliver(result.Plan, levelUp, givenKey);
        }

        /// <summary>Claims one tier of one track.</summary>
        public async Task<ClaimResult> ClaimAsync(
            int level,
            Track track,
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return await ClaimAsync(level, track, (int?)null, idempotencyKey, callOptions, cancellationToken);
        }

        /// <summary>Claims one tier of one track, with the option that the player picks, from 0.</summary>
        public async Task<ClaimResult> ClaimAsync(
            int level,
            Track track,
            int? choice,
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = session.Begin(NodeId).Name("level").Value(level).Name("track").Value(track.Word());
            if (choice != null) request.Name("choice").Value(choice.Value);
            return await session.DuringAsync(
                async () =>
                {
                    var claim = session.NoteClaim(NodeId, idempotencyKey);
                    var result = await ClaimAsync(request, idempotencyKey, callOptions, cancellationToken);
                    if (!result.Success || result.AlreadyClaimed || !session.IsNew(claim)) return result;
                    session.Grant(result.Granted, result.Boosts);
                    if (claim.MayCompletePass(lastLevel)) await session.TakeClaimAsync(claim, false, cancellationToken);
                    return result;
                },
                cancellationToken);
        }

        /// <summary>
        /// Claims every tier that can be claimed now, all or none. Tiers with a choice are left to the player.
        /// </summary>
        /// <param name="idempotencyKey">Default: a random one.</param>
        /// <param name="callOptions">Limits of this call alone.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        public async Task<ClaimAllResult> ClaimAllAsync(
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var key = Caller.KeyOr(idempotencyKey);
            var input = session.Begin(NodeId).Name("idempotencyKey").Value(key).EndObject().ToString();
            var body = new JsonWriter()
                .BeginObject()
                .Name("query")
                .Value(ClaimAllDocument)
                .Name("variables")
                .BeginObject()
                .Name("input")
                .Raw(input)
                .EndObject()
                .EndObject();
            var call = new Call
            {
                Path = "/graphql",
                Body = body.ToString(),
                IsOfPlayer = true,
                IsGraphql = true,
                IsChanging = true,
                Key = key,
                Options = callOptions,
            };
            return await session.DuringAsync(
                async () =>
                {
                    var claim = session.NoteClaim(NodeId, idempotencyKey);
                    var result = await session.Caller.MakeAsync(
                        call,
                        answer => ClaimAllResult.Read(answer.Member("claimAll")),
                        cancellationToken);
                    if (result.Claimed.Count == 0 || !session.IsNew(claim)) return result;
                    foreach (var tier in result.Claimed) session.Grant(tier.Granted, tier.Boosts);
                    if (claim.MayCompletePass(lastLevel)) await session.TakeClaimAsync(claim, false, cancellationToken);
                    return result;
                },
                cancellationToken);
        }

        /// <summary>Buys premium from the player's wallet.</summary>
        public async Task<PremiumResult> BuyPremiumAsync(
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = session.Begin(NodeId);
            return await session.DuringAsync(
                async () =>
                {
                    var result = await ChangeAsync(
                        "/sdk/v1/battlepass/premium",
                        request,
                        PremiumResult.Read,
                        idempotencyKey,
                        callOptions,
                        cancellationToken);
                    session.Deliver(result.Plan, null, idempotencyKey);
                    return result;
                },
                cancellationToken);
        }

        /// <summary>Claims, on a pass or on a level node.</summary>
        internal async Task<ClaimResult> ClaimAsync(
            JsonWriter request,
            string key,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            const string Path = "/sdk/v1/battlepass/claim";
            return await ChangeAsync(Path, request, ClaimResult.Read, key, callOptions, cancellationToken);
        }

        internal void Deliver(Crossing crossing, LevelUp levelUp)
        {
            switch (crossing.Handle)
            {
                case Handles.LevelUp:
                    if (levelUp != null) options.Raise(LevelUp, levelUp);
                    break;
                case Handles.MaxLevel:
                    options.Raise(MaxLevel, crossing);
                    break;
                case Handles.Complete:
                    options.Raise(Complete, crossing);
                    break;
                case Handles.PremiumPurchase:
                    options.Raise(PremiumPurchase, crossing);
                    break;
            }
        }

        private async Task<T> ChangeAsync<T>(
            string path,
            JsonWriter request,
            Func<JsonValue, T> read,
            string key,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            var call = new Call
            {
                Path = path,
                Body = request.EndObject().ToString(),
                IsOfPlayer = true,
                IsChanging = true,
                Key = Caller.KeyOr(key),
                IsAnsweredByKey = true,
                Options = callOptions,
            };
            return await session.Caller.MakeAsync(call, read, cancellationToken);
        }

        internal void Remember(long xp, int level)
        {
            lock (gate)
            {
                known.Enqueue(new KeyValuePair<long, int>(xp, level));
                if (known.Count > RememberedLevels) known.Dequeue();
                // Answers may arrive out of order, and levels never decrease.
                if (lastLevel == null || level > lastLevel) lastLevel = level;
            }
        }

        private int? LevelAt(long xp)
        {
            lock (gate)
            {
                int? found = null;
                foreach (var one in known)
                {
                    if (one.Key == xp) found = one.Value;
                }
                return found;
            }
        }
    }

    /// <summary>A view on the tier of one level of a pass.</summary>
    public sealed class LevelNode
    {
        private readonly TierwayOptions options;
        private readonly ScenarioSession session;
        private readonly BattlePass pass;

        internal LevelNode(TierwayOptions options, ScenarioSession session, string nodeId)
        {
            this.options = options;
            this.session = session;
            pass = new BattlePass(options, session, nodeId);
            NodeId = nodeId;
        }

        /// <summary>A tier was claimed on it for the first time.</summary>
        public event Action<Crossing> Complete;

        public string NodeId { get; private set; }

        /// <summary>The run of the node.</summary>
        public ScenarioSession Session
        {
            get { return session; }
        }

        /// <summary>The player's progress on the pass of the node.</summary>
        public Task<Progress> ProgressAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return pass.ProgressAsync(callOptions, cancellationToken);
        }

        /// <summary>Claims the tier of its level on one track.</summary>
        public async Task<ClaimResult> ClaimAsync(
            Track track,
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return await ClaimAsync(track, (int?)null, idempotencyKey, callOptions, cancellationToken);
        }

        /// <summary>Claims the tier of its level on one track, with the option that the player picks, from 0.</summary>
        public async Task<ClaimResult> ClaimAsync(
            Track track,
            int? choice,
            string idempotencyKey = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = session.Begin(NodeId).Name("track").Value(track.Word());
            if (choice != null) request.Name("choice").Value(choice.Value);
            return await session.DuringAsync(
                async () =>
                {
                    var claim = session.NoteClaim(NodeId, idempotencyKey);
                    var result = await pass.ClaimAsync(request, idempotencyKey, callOptions, cancellationToken);
                    if (!result.Success || !session.IsNew(claim)) return result;
                    if (!result.AlreadyClaimed) session.Grant(result.Granted, result.Boosts);
                    // The first successful claim on the node completes it, also when the tier was claimed on the pass.
                    if (claim.IsOnLevel || (!result.AlreadyClaimed && claim.MayCompletePass(null)))
                        await session.TakeClaimAsync(claim, result.AlreadyClaimed, cancellationToken);
                    return result;
                },
                cancellationToken);
        }

        internal void Deliver(Crossing crossing)
        {
            if (crossing.Handle == Handles.Complete) options.Raise(Complete, crossing);
        }
    }
}
