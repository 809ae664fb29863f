using System;
using System.Collections.Generic;

namespace Tierway
{
    /// <summary>What a game shows of something, in the language of the player. Null where it has none.</summary>
    public abstract class Shown
    {
        public string Name { get; private set; }

        public string Description { get; private set; }

        /// <summary>A URL, or a key of the game's own assets.</summary>
        public string Image { get; private set; }

        internal T With<T>(JsonValue value)
            where T : Shown
        {
            Name = value.TextOrNull("name");
            Description = value.TextOrNull("description");
            Image = value.TextOrNull("image");
            return (T)this;
        }

        internal static int? Int32OrNull(JsonValue value, string name)
        {
            return value.Member(name).IsNull ? (int?)null : value.Int32(name);
        }

        internal static long? Int64OrNull(JsonValue value, string name)
        {
            return value.Member(name).IsNull ? (long?)null : value.Int64(name);
        }

        internal static T OrNull<T>(JsonValue value, string name, Func<JsonValue, T> read)
            where T : class
        {
            var member = value.Member(name);
            return member.IsNull ? null : read(member);
        }
    }

    /// <summary>
    /// What a game draws of a scenario: its passes with texts and pictures, and where the player stands.
    /// </summary>
    public sealed class ScenarioView : Shown
    {
        public string ScenarioId { get; private set; }

        /// <summary>The version of the definition.</summary>
        public int Version { get; private set; }

        /// <summary>
        /// The language that was chosen. A text without it is in its nearest one. Null without texts.
        /// </summary>
        public string Language { get; private set; }

        /// <summary>The battle passes, in the order of the definition.</summary>
        public IReadOnlyList<PassView> Passes { get; private set; }

        internal static ScenarioView Read(JsonValue value)
        {
            return new ScenarioView
            {
                ScenarioId = value.Text("scenarioId"),
                Version = value.Int32("version"),
                Language = value.TextOrNull("language"),
                Passes = value.List("passes", PassView.Read),
            }.With<ScenarioView>(value);
        }
    }

    /// <summary>A battle pass, as the game shows it. Dates are null where there is none.</summary>
    public sealed class PassView : Shown
    {
        public string NodeId { get; private set; }

        public DateTimeOffset? AnnouncedAt { get; private set; }

        public DateTimeOffset? StartsAt { get; private set; }

        /// <summary>The time from which the season is about to end.</summary>
        public DateTimeOffset? EndingAt { get; private set; }

        /// <summary>The first time without xp and premium.</summary>
        public DateTimeOffset? EndsAt { get; private set; }

        /// <summary>The first time without claims.</summary>
        public DateTimeOffset? ClaimUntil { get; private set; }

        /// <summary>Null for a pass without a premium track.</summary>
        public PremiumView Premium { get; private set; }

        /// <summary>By level.</summary>
        public IReadOnlyList<LevelView> Levels { get; private set; }

        /// <summary>By level, then by track.</summary>
        public IReadOnlyList<TierView> Tiers { get; private set; }

        /// <summary>The tier that repeats above the top level. Null for none.</summary>
        public BonusView Bonus { get; private set; }

        /// <summary>What xp above the top level becomes. Null for nothing.</summary>
        public ConversionView Conversion { get; private set; }

        /// <summary>Where the season and the player stand.</summary>
        public PassState State { get; private set; }

        internal static PassView Read(JsonValue value)
        {
            return new PassView
            {
                NodeId = value.Text("nodeId"),
                AnnouncedAt = value.MomentOrNull("announcedAt"),
                StartsAt = value.MomentOrNull("startsAt"),
                EndingAt = value.MomentOrNull("endingAt"),
                EndsAt = value.MomentOrNull("endsAt"),
                ClaimUntil = value.MomentOrNull("claimUntil"),
                Premium = OrNull(value, "premium", PremiumView.Read),
                Levels = value.List("levels", LevelView.Read),
                Tiers = value.List("tiers", TierView.Read),
                Bonus = OrNull(value, "bonus", BonusView.Read),
                Conversion = OrNull(value, "conversion", ConversionView.Read),
                State = PassState.Read(value.Member("state")),
            }.With<PassView>(value);
        }
    }

    /// <summary>A reward, as the game shows it.</summary>
    public sealed class RewardView : Shown
    {
        public long Amount { get; private set; }

        /// <summary>Null for items.</summary>
        public string Currency { get; private set; }

        /// <summary>Null for money.</summary>
        public string ItemId { get; private set; }

        /// <summary>Null for anything but a boost.</summary>
        public RewardBoost Boost { get; private set; }

        internal static RewardView Read(JsonValue value)
        {
            return new RewardView
            {
                Amount = value.Int64("amount"),
                Currency = value.TextOrNull("currency"),
                ItemId = value.TextOrNull("itemId"),
                Boost = RewardBoost.ReadOrNull(value["boost"]),
            }.With<RewardView>(value);
        }
    }

    /// <summary>What a claim grants.</summary>
    public sealed class Offer
    {
        /// <summary>The rewards that it grants in any case.</summary>
        public IReadOnlyList<RewardView> Rewards { get; private set; }

        /// <summary>The options of which the player picks one, by its index. Empty without a choice.</summary>
        public IReadOnlyList<IReadOnlyList<RewardView>> Choice { get; private set; }

        internal static Offer Read(JsonValue value)
        {
            return new Offer
            {
                Rewards = value.List("rewards", RewardView.Read),
                Choice = value.List("choice", option => option.List("rewards", RewardView.Read)),
            };
        }
    }

    /// <summary>A level of a pass.</summary>
    public sealed class LevelView : Shown
    {
        public int Level { get; private set; }

        /// <summary>The total of xp that reaches it.</summary>
        public long Xp { get; private set; }

        internal static LevelView Read(JsonValue value)
        {
            return new LevelView { Level = value.Int32("level"), Xp = value.Int64("xp") }.With<LevelView>(value);
        }
    }

    /// <summary>A tier of a pass.</summary>
    public sealed class TierView : Shown
    {
        /// <summary>The level that opens it.</summary>
        public int Level { get; private set; }

        public Track Track { get; private set; }

        public Offer Offer { get; private set; }

        internal static TierView Read(JsonValue value)
        {
            return new TierView
            {
                Level = value.Int32("level"),
                Track = value.Track("track"),
                Offer = Offer.Read(value),
            }.With<TierView>(value);
        }
    }

    /// <summary>The premium of a pass.</summary>
    public sealed class PremiumView
    {
        public string Currency { get; private set; }

        /// <summary>The price.</summary>
        public long Amount { get; private set; }

        /// <summary>The percentage that is added to each xp of owners. Null for none.</summary>
        public long? XpPercent { get; private set; }

        /// <summary>What the purchase grants at once.</summary>
        public IReadOnlyList<RewardView> Instant { get; private set; }

        internal static PremiumView Read(JsonValue value)
        {
            return new PremiumView
            {
                Currency = value.Text("currency"),
                Amount = value.Int64("amount"),
                XpPercent = Shown.Int64OrNull(value, "xpPercent"),
                Instant = value.List("instant", RewardView.Read),
            };
        }
    }

    /// <summary>A tier that repeats above the top level. Its tiers are numbered from 1.</summary>
    public sealed class BonusView
    {
        /// <summary>The xp above the top level that earns one bonus tier.</summary>
        public long Every { get; private set; }

        /// <summary>How many there are.</summary>
        public int Max { get; private set; }

        /// <summary>How many are claimed on a day of the game. Null for no limit.</summary>
        public int? PerDay { get; private set; }

        public Offer Offer { get; private set; }

        internal static BonusView Read(JsonValue value)
        {
            return new BonusView
            {
                Every = value.Int64("every"),
                Max = value.Int32("max"),
                PerDay = Shown.Int32OrNull(value, "perDay"),
                Offer = Offer.Read(value),
            };
        }
    }

    /// <summary>The conversion of xp above the top level into a currency.</summary>
    public sealed class ConversionView
    {
        public string Currency { get; private set; }

        /// <summary>The xp that becomes one of the currency.</summary>
        public long Per { get; private set; }

        internal static ConversionView Read(JsonValue value)
        {
            return new ConversionView { Currency = value.Text("currency"), Per = value.Int64("per") };
        }
    }

    /// <summary>Where the season and the player stand on a pass.</summary>
    public sealed class PassState
    {
        public SeasonPhase Phase { get; private set; }

        /// <summary>Null when no other phase follows.</summary>
        public SeasonPhase? NextPhase { get; private set; }

        public DateTimeOffset? NextPhaseAt { get; private set; }

        /// <summary>By the clock of the service, rounded up: count down from it, not from the clock of the device.</summary>
        public int? SecondsToNextPhase { get; private set; }

        /// <summary>0 when no level is reached.</summary>
        public int Level { get; private set; }

        public long Xp { get; private set; }

        /// <summary>The total of xp that reaches the next level. Null at the top level.</summary>
        public long? NextLevelXp { get; private set; }

        public bool PremiumOwned { get; private set; }

        /// <summary>By level, then by track.</summary>
        public IReadOnlyList<ClaimedTier> Claimed { get; private set; }

        /// <summary>The tiers that the player can claim now, in the same order.</summary>
        public IReadOnlyList<ClaimedTier> Claimable { get; private set; }

        /// <summary>The boosts that run now, the first to end first.</summary>
        public IReadOnlyList<SeasonBoost> Boosts { get; private set; }

        internal static PassState Read(JsonValue value)
        {
            return new PassState
            {
                Phase = value.Phase("phase"),
                NextPhase = value.PhaseOrNull("nextPhase"),
                NextPhaseAt = value.MomentOrNull("nextPhaseAt"),
                SecondsToNextPhase = Shown.Int32OrNull(value, "secondsToNextPhase"),
                Level = value.Int32("level"),
                Xp = value.Int64("xp"),
                NextLevelXp = Shown.Int64OrNull(value, "nextLevelXp"),
                PremiumOwned = value.Flag("premiumOwned"),
                Claimed = value.List("claimed", ClaimedTier.Read),
                Claimable = value.List("claimable", ClaimedTier.Read),
                Boosts = value.List("boosts", SeasonBoost.Read),
            };
        }
    }
}
