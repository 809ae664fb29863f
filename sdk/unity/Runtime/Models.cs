using System;
using System.Collections.Generic;
using System.Globalization;

namespace Tierway
{
    /// <summary>A track of a battle pass.</summary>
    public enum Track
    {
        /// <summary>Open to every player.</summary>
        Free,

        /// <summary>Open to players who own premium.</summary>
        Premium,

        /// <summary>The bonus tiers above the top level, numbered from 1.</summary>
        Bonus,
    }

    /// <summary>A request to link an identity.</summary>
    public class LinkRequest
    {
        /// <summary>
        /// A JSON object for the studio's own backend. It is sent as it is written, character for character. A string
        /// is taken as JSON text.
        /// </summary>
        public JsonValue CustomData { get; set; }

        /// <summary>The name of a login provider. Default: <c>default</c>.</summary>
        public string Provider { get; set; }
    }

    /// <summary>A request to log in, with the profile of a new player.</summary>
    public sealed class LoginRequest : LinkRequest
    {
        public string Nickname { get; set; }

        /// <summary>Such as <c>eu-west</c>.</summary>
        public string Region { get; set; }

        /// <summary>Such as <c>pt-BR</c>.</summary>
        public string Language { get; set; }

        /// <summary>The player finds it in its sessions. In Unity, <c>SystemInfo.deviceModel</c> fits.</summary>
        public string DeviceName { get; set; }
    }

    /// <summary>
    /// A request to log in, or to link, by an ID token of Google, of Apple or of another issuer. A link ignores the profile.
    /// </summary>
    public sealed class IdTokenRequest
    {
        /// <summary>The token that the issuer gave the game: a signed JWT.</summary>
        public string IdToken { get; set; }

        /// <summary>
        /// The nonce of the token, which works once: when the answer is lost, get a new token. Null for a token without one.
        /// </summary>
        public string Nonce { get; set; }

        /// <summary>The name of the issuer, for one that the studio has added.</summary>
        public string Provider { get; set; }

        public string Nickname { get; set; }

        /// <summary>Such as <c>eu-west</c>.</summary>
        public string Region { get; set; }

        /// <summary>Such as <c>pt-BR</c>.</summary>
        public string Language { get; set; }

        /// <summary>The player finds it in its sessions. In Unity, <c>SystemInfo.deviceModel</c> fits.</summary>
        public string DeviceName { get; set; }
    }

    /// <summary>A request to log in as a guest, with the profile of a new player.</summary>
    public sealed class GuestRequest
    {
        /// <summary>
        /// 32 to 128 characters that nobody can guess. Null for the id that the client makes, and keeps in
        /// <see cref="TierwayOptions.DeviceStorage"/>.
        /// </summary>
        public string DeviceId { get; set; }

        public string Nickname { get; set; }

        /// <summary>Such as <c>eu-west</c>.</summary>
        public string Region { get; set; }

        /// <summary>Such as <c>pt-BR</c>.</summary>
        public string Language { get; set; }

        /// <summary>The player finds it in its sessions. In Unity, <c>SystemInfo.deviceModel</c> fits.</summary>
        public string DeviceName { get; set; }
    }

    /// <summary>
    /// Money or items: one of <see cref="Currency"/> and <see cref="ItemId"/> is set.
    /// </summary>
    public sealed class Reward
    {
        public long Amount { get; internal set; }

        /// <summary>Null for items.</summary>
        public string Currency { get; internal set; }

        /// <summary>Null for money.</summary>
        public string ItemId { get; internal set; }

        internal static Reward Read(JsonValue value)
        {
            return new Reward
            {
                Amount = value.Int64("amount"),
                Currency = value.TextOrNull("currency"),
                ItemId = value.TextOrNull("itemId"),
            };
        }
    }

    /// <summary>More xp of the player alone for a time, from the moment at which it is granted.</summary>
    public sealed class RewardBoost
    {
        /// <summary>The percentage that is added to each xp.</summary>
        public int Percent { get; private set; }

        public int Minutes { get; private set; }

        internal static RewardBoost Read(JsonValue value)
        {
            return new RewardBoost { Percent = value.Int32("percent"), Minutes = value.Int32("minutes") };
        }

        internal static RewardBoost ReadOrNull(JsonValue value)
        {
            return value == null || value.IsNull ? null : Read(value);
        }

        /// <summary>The boosts of an answer. Empty where it has no such list.</summary>
        internal static IReadOnlyList<RewardBoost> ListOf(JsonValue answer)
        {
            var boosts = answer["boosts"];
            return boosts == null || boosts.IsNull ? new RewardBoost[0] : answer.List("boosts", Read);
        }
    }

    /// <summary>A tier of a battle pass.</summary>
    public sealed class ClaimedTier
    {
        public int Level { get; internal set; }

        public Track Track { get; internal set; }

        internal static ClaimedTier Read(JsonValue value)
        {
            return new ClaimedTier { Level = value.Int32("level"), Track = value.Track("track") };
        }
    }

    /// <summary>A player's progress on a battle pass.</summary>
    public sealed class Progress
    {
        /// <summary>0 when no level is reached.</summary>
        public int Level { get; internal set; }

        public long Xp { get; internal set; }

        public bool PremiumOwned { get; internal set; }

        public IReadOnlyList<ClaimedTier> ClaimedTiers { get; internal set; }

        internal static Progress Read(JsonValue value)
        {
            return new Progress
            {
                Level = value.Int32("level"),
                Xp = value.Int64("xp"),
                PremiumOwned = value.Flag("premiumOwned"),
                ClaimedTiers = value.List("claimedTiers", ClaimedTier.Read),
            };
        }
    }

    /// <summary>Where a season stands.</summary>
    public enum SeasonPhase
    {
        /// <summary>It has not started, and is not announced.</summary>
        Planned,

        /// <summary>It has not started.</summary>
        Announced,

        /// <summary>Xp counts, tiers can be claimed, and premium is sold.</summary>
        Running,

        /// <summary>The same, and it is about to end.</summary>
        Ending,

        /// <summary>Tiers can still be claimed.</summary>
        Ended,

        /// <summary>It is over.</summary>
        Closed,
    }

    /// <summary>Who gets a boost.</summary>
    public enum BoostAudience
    {
        /// <summary>Every player.</summary>
        Everybody,

        /// <summary>The owners of premium of the pass.</summary>
        Premium,
    }

    /// <summary>More xp for a time, which runs now. Boosts that run at the same time are added.</summary>
    public sealed class SeasonBoost
    {
        /// <summary>The percentage that is added to each xp.</summary>
        public int Percent { get; private set; }

        public DateTimeOffset StartsAt { get; private set; }

        /// <summary>The first time without it. It may be ended earlier.</summary>
        public DateTimeOffset EndsAt { get; private set; }

        /// <summary>By the clock of the service, rounded up: count down from it, not from the clock of the device.</summary>
        public int SecondsLeft { get; private set; }

        public BoostAudience Audience { get; private set; }

        /// <summary>The sources of xp that it is for. Empty for all.</summary>
        public IReadOnlyList<string> Sources { get; private set; }

        /// <summary>Whether the player alone has it.</summary>
        public bool Personal { get; private set; }

        internal static SeasonBoost Read(JsonValue value)
        {
            return new SeasonBoost
            {
                Percent = value.Int32("percent"),
                StartsAt = value.Moment("startsAt"),
                EndsAt = value.Moment("endsAt"),
                SecondsLeft = value.Int32("secondsLeft"),
                Audience = value.Audience("audience"),
                Sources = value.List("sources", source => source.AsString()),
                Personal = value["personal"] != null && value["personal"].AsBoolean(),
            };
        }
    }

    /// <summary>The dates of the season of a battle pass, and where it stands. Dates are null where there is none.</summary>
    public sealed class Season
    {
        public SeasonPhase Phase { get; private set; }

        public DateTimeOffset? AnnouncedAt { get; private set; }

        public DateTimeOffset? StartsAt { get; private set; }

        /// <summary>The time from which the season is about to end.</summary>
        public DateTimeOffset? EndingAt { get; private set; }

        /// <summary>The first time without xp and premium.</summary>
        public DateTimeOffset? EndsAt { get; private set; }

        /// <summary>The first time without claims.</summary>
        public DateTimeOffset? ClaimUntil { get; private set; }

        /// <summary>Null when no other phase follows.</summary>
        public SeasonPhase? NextPhase { get; private set; }

        public DateTimeOffset? NextPhaseAt { get; private set; }

        /// <summary>By the clock of the service, rounded up: count down from it, not from the clock of the device.</summary>
        public int? SecondsToNextPhase { get; private set; }

        /// <summary>The boosts that run now, the first to end first. Empty with a service that knows none.</summary>
        public IReadOnlyList<SeasonBoost> Boosts { get; private set; }

        /// <summary>The time of the answer, by the clock of the service.</summary>
        public DateTimeOffset Now { get; private set; }

        internal static Season Read(JsonValue value)
        {
            var next = value["secondsToNextPhase"];
            var boosts = value["boosts"];
            return new Season
            {
                Phase = value.Phase("phase"),
                AnnouncedAt = value.MomentOrNull("announcedAt"),
                StartsAt = value.MomentOrNull("startsAt"),
                EndingAt = value.MomentOrNull("endingAt"),
                EndsAt = value.MomentOrNull("endsAt"),
                ClaimUntil = value.MomentOrNull("claimUntil"),
                NextPhase = value.PhaseOrNull("nextPhase"),
                NextPhaseAt = value.MomentOrNull("nextPhaseAt"),
                SecondsToNextPhase = next.IsNull ? (int?)null : value.Int32("secondsToNextPhase"),
                Boosts = boosts == null || boosts.IsNull ? new SeasonBoost[0] : value.List("boosts", SeasonBoost.Read),
                Now = value.Moment("now"),
            };
        }
    }

    /// <summary>
    /// What the player has reached in a season: on a battle pass that it has begun. The phase, dates and top level are
    /// null when the current version of the scenario no longer has the pass.
    /// </summary>
    public sealed class SeasonProgress
    {
        public string ScenarioId { get; private set; }

        public string NodeId { get; private set; }

        /// <summary>Where the season stands now.</summary>
        public SeasonPhase? Phase { get; private set; }

        /// <summary>Null when the season has always run.</summary>
        public DateTimeOffset? StartsAt { get; private set; }

        /// <summary>The first time without xp and premium. Null when the season does not end.</summary>
        public DateTimeOffset? EndsAt { get; private set; }

        /// <summary>The first time without claims. Null when claims stay open.</summary>
        public DateTimeOffset? ClaimUntil { get; private set; }

        /// <summary>0 when no level is reached.</summary>
        public int Level { get; private set; }

        /// <summary>The highest level of the pass.</summary>
        public int? TopLevel { get; private set; }

        public long Xp { get; private set; }

        public bool PremiumOwned { get; private set; }

        /// <summary>The number of claimed tiers.</summary>
        public int Claimed { get; private set; }

        internal static SeasonProgress Read(JsonValue value)
        {
            var top = value["topLevel"];
            return new SeasonProgress
            {
                ScenarioId = value.Text("scenarioId"),
                NodeId = value.Text("nodeId"),
                Phase = value.PhaseOrNull("phase"),
                StartsAt = value.MomentOrNull("startsAt"),
                EndsAt = value.MomentOrNull("endsAt"),
                ClaimUntil = value.MomentOrNull("claimUntil"),
                Level = value.Int32("level"),
                TopLevel = top == null || top.IsNull ? (int?)null : value.Int32("topLevel"),
                Xp = value.Int64("xp"),
                PremiumOwned = value.Flag("premiumOwned"),
                Claimed = value.Int32("claimed"),
            };
        }
    }

    /// <summary>The result of an addition of xp.</summary>
    public sealed class XpResult
    {
        /// <summary>The level after the addition.</summary>
        public int Level { get; internal set; }

        /// <summary>The total xp after the addition.</summary>
        public long Xp { get; internal set; }

        public bool LeveledUp { get; internal set; }

        /// <summary>The top level is reached.</summary>
        public bool MaxLevel { get; internal set; }

        /// <summary>Null when nothing was crossed.</summary>
        public ExecutionPlan Plan { get; internal set; }

        internal static XpResult Read(JsonValue value)
        {
            return new XpResult
            {
                Level = value.Int32("level"),
                Xp = value.Int64("xp"),
                LeveledUp = value.Flag("leveledUp"),
                MaxLevel = value.Flag("maxLevel"),
                Plan = value.Plan("plan"),
            };
        }
    }

    /// <summary>A key of a player's storage, without its value.</summary>
    public sealed class StorageKey
    {
        public string Key { get; internal set; }

        /// <summary>The size of its value in UTF-8.</summary>
        public int Bytes { get; internal set; }

        internal static StorageKey Read(JsonValue value)
        {
            return new StorageKey { Key = value.Text("key"), Bytes = value.Int32("bytes") };
        }
    }

    /// <summary>A part of the keys of a player's storage, in the order of their bytes.</summary>
    public sealed class StorageKeys
    {
        public IReadOnlyList<StorageKey> Keys { get; internal set; }

        /// <summary>The <c>after</c> of the next page. Null when there are no more keys.</summary>
        public string Next { get; internal set; }

        internal static StorageKeys Read(JsonValue value)
        {
            return new StorageKeys { Keys = value.List("keys", StorageKey.Read), Next = value.TextOrNull("next") };
        }
    }

    /// <summary>The result of a claim. A game's "no" is <see cref="Success"/> false.</summary>
    public sealed class ClaimResult
    {
        public bool Success { get; internal set; }

        public bool AlreadyClaimed { get; internal set; }

        /// <summary>The reason of a "no": see <see cref="ClaimErrors"/>. Null on success.</summary>
        public string Error { get; internal set; }

        /// <summary>The granted rewards; for a repeated claim, those of the first one.</summary>
        public IReadOnlyList<Reward> Granted { get; internal set; }

        /// <summary>The boosts among the rewards. Empty without one.</summary>
        public IReadOnlyList<RewardBoost> Boosts { get; internal set; }

        internal static ClaimResult Read(JsonValue value)
        {
            return new ClaimResult
            {
                Success = value.Flag("success"),
                AlreadyClaimed = value.Flag("alreadyClaimed"),
                Error = value.TextOrNull("error"),
                Granted = value.List("granted", Reward.Read),
                Boosts = RewardBoost.ListOf(value),
            };
        }
    }

    /// <summary>Why a tier cannot be claimed.</summary>
    public static class ClaimErrors
    {
        public const string TierNotFound = "tier not found";
        public const string SeasonClosed = "season closed";
        public const string LevelNotReached = "level not reached";
        public const string PremiumRequired = "premium required";
        public const string ChoiceRequired = "choice required";
        public const string ChoiceNotFound = "choice not found";
        public const string BalanceLimitExceeded = "balance limit exceeded";
        public const string DailyLimitReached = "daily limit reached";
    }

    /// <summary>A claimed tier, with its granted rewards.</summary>
    public sealed class GrantedTier
    {
        public int Level { get; internal set; }

        public Track Track { get; internal set; }

        public IReadOnlyList<Reward> Granted { get; internal set; }

        /// <summary>The boosts among the rewards. Empty without one.</summary>
        public IReadOnlyList<RewardBoost> Boosts { get; internal set; }

        internal static GrantedTier Read(JsonValue value)
        {
            return new GrantedTier
            {
                Level = value.Int32("level"),
                Track = value.Track("track"),
                Granted = value.List("granted", Reward.Read),
                Boosts = RewardBoost.ListOf(value),
            };
        }
    }

    /// <summary>The result of claiming all tiers.</summary>
    public sealed class ClaimAllResult
    {
        /// <summary>The tiers that this call claimed, by level.</summary>
        public IReadOnlyList<GrantedTier> Claimed { get; internal set; }

        internal static ClaimAllResult Read(JsonValue value)
        {
            return new ClaimAllResult { Claimed = value.List("claimed", GrantedTier.Read) };
        }
    }

    /// <summary>The result of a purchase of premium. A game's "no" is <see cref="Success"/> false.</summary>
    public sealed class PremiumResult
    {
        public bool Success { get; internal set; }

        /// <summary>The reason of a "no": see <see cref="PremiumErrors"/>. Null on success.</summary>
        public string Error { get; internal set; }

        /// <summary>Null when nothing was crossed.</summary>
        public ExecutionPlan Plan { get; internal set; }

        internal static PremiumResult Read(JsonValue value)
        {
            return new PremiumResult
            {
                Success = value.Flag("success"),
                Error = value.TextOrNull("error"),
                Plan = value.Plan("plan"),
            };
        }
    }

    /// <summary>Why premium cannot be bought.</summary>
    public static class PremiumErrors
    {
        public const string IdempotencyKeyReused = "idempotency key reused";
        public const string PremiumNotAvailable = "premium not available";
        public const string SeasonClosed = "season closed";
        public const string PremiumAlreadyOwned = "premium already owned";
        public const string InsufficientFunds = "insufficient funds";
        public const string BalanceLimitExceeded = "balance limit exceeded";
    }

    /// <summary>The effects of a call on a run.</summary>
    public sealed class ExecutionPlan
    {
        public string RunId { get; internal set; }

        /// <summary>See <see cref="RunStatus"/>.</summary>
        public string Status { get; internal set; }

        /// <summary>Handles that were crossed, in order.</summary>
        public IReadOnlyList<Crossing> Crossed { get; internal set; }

        /// <summary>Nodes that were entered, in order. Types that the service does not run are for the game.</summary>
        public IReadOnlyList<ScenarioNode> Entered { get; internal set; }

        /// <summary>The rewards that reward nodes granted.</summary>
        public IReadOnlyList<Reward> Granted { get; internal set; }

        /// <summary>The boosts among the rewards. Empty without one.</summary>
        public IReadOnlyList<RewardBoost> Boosts { get; internal set; }

        internal static ExecutionPlan Read(JsonValue value)
        {
            return new ExecutionPlan
            {
                RunId = value.Text("runId"),
                Status = value.Text("status"),
                Crossed = value.List("crossed", Crossing.Read),
                Entered = value.List("entered", ScenarioNode.Read),
                Granted = value.List("granted", Reward.Read),
                Boosts = RewardBoost.ListOf(value),
            };
        }
    }

    public static class RunStatus
    {
        public const string Active = "active";
        public const string Completed = "completed";
        public const string Cancelled = "cancelled";
    }

    /// <summary>A handle of a node was crossed.</summary>
    public sealed class Crossing
    {
        public string NodeId { get; internal set; }

        /// <summary>See <see cref="Handles"/>; nodes of the game have handles of their own.</summary>
        public string Handle { get; internal set; }

        internal static Crossing Read(JsonValue value)
        {
            return new Crossing { NodeId = value.Text("nodeId"), Handle = value.Text("handle") };
        }
    }

    /// <summary>Types of a player's events.</summary>
    public static class EventTypes
    {
        public const string Crossing = "CROSSING";
        public const string PlayerCreated = "PLAYER_CREATED";
        public const string RunCancelled = "RUN_CANCELLED";
        public const string InboxReceived = "INBOX_RECEIVED";
        public const string TiersClaimed = "TIERS_CLAIMED";
        public const string SeasonSettled = "SEASON_SETTLED";
        public const string XpLimited = "XP_LIMITED";
    }

    /// <summary>Handles that the service crosses.</summary>
    public static class Handles
    {
        public const string Start = "onStart";
        public const string LevelUp = "onLevelUp";
        public const string MaxLevel = "onMaxLevel";
        public const string Complete = "onComplete";
        public const string PremiumPurchase = "onPremiumPurchase";
        public const string SeasonEnd = "onSeasonEnd";
    }

    /// <summary>A node of a scenario.</summary>
    public sealed class ScenarioNode
    {
        public string NodeId { get; internal set; }

        public string Type { get; internal set; }

        /// <summary>Its published data.</summary>
        public JsonValue Data { get; internal set; }

        internal static ScenarioNode Read(JsonValue value)
        {
            return new ScenarioNode
            {
                NodeId = value.Text("nodeId"),
                Type = value.Text("type"),
                Data = value.Member("data"),
            };
        }
    }

    /// <summary>A pass reached a higher level.</summary>
    public sealed class LevelUp
    {
        /// <summary>The level before; null when this session does not know it.</summary>
        public int? FromLevel { get; internal set; }

        public int ToLevel { get; internal set; }

        /// <summary>The total xp after the addition.</summary>
        public long Xp { get; internal set; }

        /// <summary>The origin of the xp. Default: empty.</summary>
        public string Source { get; internal set; }
    }

    /// <summary>A player, with wallet, inventory and identities.</summary>
    public sealed class Player
    {
        public string PlayerId { get; internal set; }

        public string Nickname { get; internal set; }

        public string AvatarUrl { get; internal set; }

        public string Region { get; internal set; }

        public string Language { get; internal set; }

        public DateTimeOffset CreatedAt { get; internal set; }

        public IReadOnlyList<Balance> Wallet { get; internal set; }

        public IReadOnlyList<HeldItem> Inventory { get; internal set; }

        public IReadOnlyList<Identity> Identities { get; internal set; }

        internal static Player Read(JsonValue value)
        {
            return new Player
            {
                PlayerId = value.Text("playerId"),
                Nickname = value.TextOrNull("nickname"),
                AvatarUrl = value.TextOrNull("avatarUrl"),
                Region = value.TextOrNull("region"),
                Language = value.TextOrNull("language"),
                CreatedAt = value.Moment("createdAt"),
                Wallet = value.List("wallet", Balance.Read),
                Inventory = value.List("inventory", HeldItem.Read),
                Identities = value.List("identities", Identity.Read),
            };
        }
    }

    public sealed class Balance
    {
        public string Currency { get; internal set; }

        public long Amount { get; internal set; }

        internal static Balance Read(JsonValue value)
        {
            return new Balance { Currency = value.Text("currency"), Amount = value.Int64("balance") };
        }
    }

    public sealed class HeldItem
    {
        public string ItemId { get; internal set; }

        public long Amount { get; internal set; }

        internal static HeldItem Read(JsonValue value)
        {
            return new HeldItem { ItemId = value.Text("itemId"), Amount = value.Int64("amount") };
        }
    }

    /// <summary>An identity that a player logs in with.</summary>
    public sealed class Identity
    {
        /// <summary>
        /// <c>custom</c>, <c>custom:</c> and the name of another custom provider, <c>google</c>, <c>apple</c>,
        /// <c>oidc:</c> and the name of an issuer, or <c>device</c>.
        /// </summary>
        public string Provider { get; internal set; }

        /// <summary>The studio's own id of the player.</summary>
        public string Subject { get; internal set; }

        internal static Identity Read(JsonValue value)
        {
            return new Identity { Provider = value.Text("provider"), Subject = value.Text("subject") };
        }
    }

    /// <summary>An event of the player, from the stream of its environment.</summary>
    public sealed class TierwayEvent
    {
        /// <summary>Its place in the stream: pass it as <c>after</c> to continue.</summary>
        public string Cursor { get; internal set; }

        /// <summary>What happened: see <see cref="EventTypes"/>.</summary>
        public string Type { get; internal set; }

        public DateTimeOffset OccurredAt { get; internal set; }

        /// <summary>The crossed handle; null for events that are not crossings.</summary>
        public string Handle { get; internal set; }

        public string PlayerId { get; internal set; }

        public string ScenarioId { get; internal set; }

        public string NodeId { get; internal set; }

        public string RunId { get; internal set; }

        /// <summary>
        /// The members of the event, such as <c>fromLevel</c>. Integers that a double cannot hold are strings.
        /// </summary>
        public JsonValue Data { get; internal set; }

        /// <summary>The crossing of an event that has a node and a handle.</summary>
        internal Crossing Crossing
        {
            get { return new Crossing { NodeId = NodeId, Handle = Handle }; }
        }

        /// <summary>The data of a level-up; null for other events.</summary>
        public LevelUp LevelUp
        {
            get
            {
                if (Handle != Handles.LevelUp) return null;
                return new LevelUp
                {
                    FromLevel = Data.Int32("fromLevel"),
                    ToLevel = Data.Int32("toLevel"),
                    Xp = Data.Int64("xp"),
                    Source = Data.TextOrNull("source") ?? "",
                };
            }
        }

        internal static TierwayEvent Read(JsonValue value)
        {
            return new TierwayEvent
            {
                Cursor = value.Text("cursor"),
                Type = value.Text("type"),
                OccurredAt = value.Moment("occurredAt"),
                Handle = value.TextOrNull("handle"),
                PlayerId = value.Text("playerId"),
                ScenarioId = value.TextOrNull("scenarioId"),
                NodeId = value.TextOrNull("nodeId"),
                RunId = value.TextOrNull("runId"),
                Data = value.Member("data"),
            };
        }
    }

    /// <summary>Reads members of answers without reflection.</summary>
    internal static class Reading
    {
        public static JsonValue Member(this JsonValue value, string name)
        {
            var member = value[name];
            if (member == null) throw new JsonFormatException("there is no member '" + name + "'");
            return member;
        }

        public static string Text(this JsonValue value, string name)
        {
            return value.Member(name).AsString();
        }

        public static string TextOrNull(this JsonValue value, string name)
        {
            var member = value[name];
            return member == null || member.IsNull ? null : member.AsString();
        }

        /// <summary>An integer, or its digits as a string, as GraphQL has them.</summary>
        public static long Int64(this JsonValue value, string name)
        {
            var member = value.Member(name);
            return member.Kind == JsonKind.String ? Json.Parse(member.AsString()).AsInt64() : member.AsInt64();
        }

        public static int Int32(this JsonValue value, string name)
        {
            return value.Member(name).AsInt32();
        }

        public static bool Flag(this JsonValue value, string name)
        {
            return value.Member(name).AsBoolean();
        }

        public static DateTimeOffset Moment(this JsonValue value, string name)
        {
            const DateTimeStyles Utc = DateTimeStyles.AssumeUniversal | DateTimeStyles.AdjustToUniversal;
            DateTimeOffset moment;
            if (!DateTimeOffset.TryParse(value.Text(name), CultureInfo.InvariantCulture, Utc, out moment))
                throw new JsonFormatException("'" + name + "' is no time");
            return moment;
        }

        public static DateTimeOffset? MomentOrNull(this JsonValue value, string name)
        {
            return value.TextOrNull(name) == null ? (DateTimeOffset?)null : value.Moment(name);
        }

        public static SeasonPhase Phase(this JsonValue value, string name)
        {
            SeasonPhase phase;
            var text = value.Text(name);
            if (Enum.TryParse(text, true, out phase)) return phase;
            throw new JsonFormatException("'" + text + "' is no phase of a season");
        }

        public static SeasonPhase? PhaseOrNull(this JsonValue value, string name)
        {
            return value.TextOrNull(name) == null ? (SeasonPhase?)null : value.Phase(name);
        }

        public static BoostAudience Audience(this JsonValue value, string name)
        {
            BoostAudience audience;
            var text = value.Text(name);
            if (Enum.TryParse(text, true, out audience)) return audience;
            throw new JsonFormatException("'" + text + "' is no audience of a boost");
        }

        /// <summary>In lower case over REST, in upper case over GraphQL.</summary>
        public static Track Track(this JsonValue value, string name)
        {
            var text = value.Text(name);
            if (string.Equals(text, "free", StringComparison.OrdinalIgnoreCase)) return Tierway.Track.Free;
            if (string.Equals(text, "premium", StringComparison.OrdinalIgnoreCase)) return Tierway.Track.Premium;
            if (string.Equals(text, "bonus", StringComparison.OrdinalIgnoreCase)) return Tierway.Track.Bonus;
            throw new JsonFormatException("'" + text + "' is no track");
        }

        public static string Word(this Track track)
        {
            if (track == Tierway.Track.Bonus) return "bonus";
            return track == Tierway.Track.Premium ? "premium" : "free";
        }

        public static ExecutionPlan Plan(this JsonValue value, string name)
        {
            var member = value[name];
            return member == null || member.IsNull ? null : ExecutionPlan.Read(member);
        }

        public static IReadOnlyList<T> List<T>(this JsonValue value, string name, Func<JsonValue, T> read)
        {
            var items = value.Member(name).Items;
            var list = new T[items.Count];
            for (var at = 0; at < list.Length; at++) list[at] = read(items[at]);
            return list;
        }
    }
}
