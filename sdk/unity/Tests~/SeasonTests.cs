using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    internal static class SeasonTests
    {
        /// <summary>The demo's season, from the first login to the last tier.</summary>
        public static async Task PlayAsync()
        {
            var client = await Program.NewPlayerAsync();
            var season = await client.Scenario("season-1").StartAsync();
            Check.True(!season.Resumed && season.ScenarioId == "season-1", "a new run");
            Check.Equal("1000 gems, 250 gold", Check.Rewards(season.Plan.Granted), "the welcome");
            Check.Sequence(new[] { "pass", "halfway" }, season.Active.Select(node => node.NodeId), "active nodes");
            Check.Equal(50, season.Active[1].Data["levelNumber"].AsInt32(), "the data of a node");

            var again = await client.Scenario("season-1").StartAsync();
            Check.True(again.Resumed && again.RunId == season.RunId, "the run is resumed");
            Check.Sequence(new[] { "pass", "halfway" }, again.Active.Select(node => node.NodeId), "its active nodes");

            var told = new List<string>();
            season.Crossed += crossing => told.Add(crossing.NodeId + " " + crossing.Handle);
            season.Entered += node => told.Add("entered " + node.NodeId);
            season.Granted += rewards => told.Add("granted " + Check.Rewards(rewards));
            var pass = season.BattlePass("pass");
            Check.True(ReferenceEquals(pass, season.BattlePass("pass")), "one object for one node");
            pass.LevelUp += up => told.Add("level " + (up.FromLevel ?? -1) + " to " + up.ToLevel + ", " + up.Xp + " by " + up.Source);
            pass.MaxLevel += crossing => told.Add("max level");
            pass.Complete += crossing => told.Add("complete");
            pass.PremiumPurchase += crossing => told.Add("premium");
            var half = season.Level("halfway");
            half.Complete += crossing => told.Add("half complete");

            // Before the session knows a level.
            await pass.AddXpAsync(500, "first");
            Expect(told, "level -1 to 2, 500 by first", "pass onLevelUp", "entered level-up");
            Check.True(season.Active.Any(node => node.NodeId == "level-up"), "what was entered is active");

            var progress = await pass.ProgressAsync();
            Check.Equal("2 500 False 0", Line(progress), "the progress");
            var added = await pass.AddXpAsync(700, "match");
            Check.True(added.Level == 3 && added.Xp == 1200 && added.LeveledUp && !added.MaxLevel, "an addition");
            Check.Equal(RunStatus.Active, added.Plan.Status, "the status of its plan");
            Expect(told, "level 2 to 3, 1200 by match", "pass onLevelUp", "entered level-up");
            added = await pass.AddXpAsync(1);
            Check.True(added.Plan == null && !added.LeveledUp, "an addition that crosses nothing");
            Expect(told);

            var claim = await pass.ClaimAsync(2, Track.Free);
            Check.True(claim.Success && !claim.AlreadyClaimed && claim.Error == null, "a claim");
            Check.Equal("60 gold", Check.Rewards(claim.Granted), "what it granted");
            Expect(told, "granted 60 gold");
            claim = await pass.ClaimAsync(2, Track.Free);
            Check.True(claim.Success && claim.AlreadyClaimed, "the same claim");
            Check.Equal("60 gold", Check.Rewards(claim.Granted), "what it had granted");
            Expect(told);
            await RefusedAsync(() => pass.ClaimAsync(50, Track.Free), ClaimErrors.LevelNotReached);
            await RefusedAsync(() => half.ClaimAsync(Track.Free), ClaimErrors.LevelNotReached);
            await RefusedAsync(() => pass.ClaimAsync(2, Track.Premium), ClaimErrors.PremiumRequired);
            await RefusedAsync(() => pass.ClaimAsync(101, Track.Free), ClaimErrors.TierNotFound);

            var premium = await pass.BuyPremiumAsync();
            Check.True(premium.Success && premium.Error == null, "a purchase");
            Expect(
                told,
                "premium",
                "pass onPremiumPurchase",
                "premium-thanks onComplete",
                "entered premium-thanks",
                "granted 1 banner-first-light");
            premium = await pass.BuyPremiumAsync();
            Check.True(!premium.Success && premium.Error == PremiumErrors.PremiumAlreadyOwned, "a second purchase");

            added = await pass.AddXpAsync(150000, "tournament");
            Check.True(added.MaxLevel && added.Level == 100, "the top level");
            Check.Equal("level 3 to 100, 151201 by tournament", told[0], "the way to the top");
            Check.True(told.Contains("max level") && told.Contains("pass onMaxLevel"), "the top level is told");
            Check.Equal("granted 1 trophy-first-light, 10000 gold", told.Last(), "the champion's reward");
            told.Clear();

            claim = await half.ClaimAsync(Track.Free);
            Check.Equal("100 gems, 200 gold", Check.Rewards(claim.Granted), "the tier of a level node");
            Expect(told, "granted 100 gems, 200 gold", "half complete", "halfway onComplete");
            Check.True(season.Active.All(node => node.NodeId != "halfway"), "a level node is left when it completes");
            claim = await half.ClaimAsync(Track.Premium);
            Check.True(claim.Success, "its other track");
            Expect(told, "granted 1 skin-first-light-50, 50 gems");
            Check.True((await pass.ClaimAsync(50, Track.Free)).AlreadyClaimed, "the same tier on the pass");

            var all = await pass.ClaimAllAsync();
            Check.Equal(197, all.Claimed.Count, "what was left to claim");
            Check.Equal("1 Free 55 gold", TierLine(all.Claimed[0]), "the first of them");
            Check.Equal("100 Premium 1 skin-first-light-100, 50 gems", TierLine(all.Claimed.Last()), "the last of them");
            Check.Equal(197, told.Count(one => one.StartsWith("granted ")), "each tier's rewards are told");
            Check.Sequence(new[] { "complete", "pass onComplete", "entered finale" }, told.Skip(197), "the end");
            told.Clear();
            Check.Equal(0, (await pass.ClaimAllAsync()).Claimed.Count, "nothing is left");
            Expect(told);
            progress = await pass.ProgressAsync();
            Check.Equal("100 151201 True 200", Line(progress), "the progress at the end");

            // Up to the maximum of 64 bits.
            added = await pass.AddXpAsync(long.MaxValue - added.Xp);
            Check.Equal(long.MaxValue, added.Xp, "all the xp that there can be");
            Check.Equal(long.MaxValue, (await pass.ProgressAsync()).Xp, "the same, read");
            var error = await Check.ThrowsAsync<TierwayException>(() => pass.AddXpAsync(1), "one more");
            Check.Equal("409 " + ErrorCodes.XpLimitExceeded, error.Status + " " + error.Code, "one more");
            Check.True(!error.Retryable && !error.IsOutcomeUnknown, "it is known that nothing was done");

            await season.RefreshAsync();
            Check.Sequence(new[] { "finale", "level-up", "pass" }, season.Active.Select(node => node.NodeId).OrderBy(id => id), "active at the end");
            await StoryAsync(client);
            var player = await client.PlayerAsync();
            await Program.AskAsync("books " + player.PlayerId);
        }

        /// <summary>A scenario with nodes that the game runs.</summary>
        private static async Task StoryAsync(TierwayClient client)
        {
            var story = await client.Scenario("story").StartAsync();
            Check.Sequence(new[] { "intro" }, story.Active.Select(node => node.NodeId), "the node of the game");
            var granted = "";
            story.Granted += rewards => granted += Check.Rewards(rewards);
            var plan = await story.CrossAsync("intro", "onAccept");
            Check.Equal("7 gold", granted, "what it led to");
            Check.Equal("intro onAccept, gift onComplete", Crossings(plan), "what was crossed");
            Check.True(await story.CrossAsync("intro", "onAccept") != null, "a plan each time");
        }

        public static async Task StorageAsync()
        {
            var client = await Program.NewPlayerAsync();
            var values = new Dictionary<string, string>
            {
                { "most", "9223372036854775807" },
                { "least", "-9223372036854775808" },
                { "beyond", "18446744073709551616" },
                { "float", "1.0" },
                { "exponent", "1e3" },
                { "minus zero", "-0" },
                { "precise", "0.1000000000000000055511151231257827021181583404541015625" },
                { "spaces", "[ 1 ,\t2\n]" },
                { "twice", "{\"b\":1,\"a\":2,\"a\":3,\"10\":4,\"2\":5}" },
                { "escapes", "\"\\u0041\\/\\u00e9\\n\u2028\ud83d\ude00\"" },
                { "null", "null" },
                { "__proto__", "{\"__proto__\":true}" },
                { "10", "\"\"" },
                { "ключ \"\\\n", "[[[]]]" },
            };
            await client.Storage.SetAsync(values);
            var all = await client.Storage.GetAsync();
            foreach (var value in values) Check.Equal(value.Value, all[value.Key], value.Key);
            Check.Equal(values.Count, all.Count, "nothing else is there");
            Check.Equal(long.MaxValue, Json.Parse(all["most"]).AsInt64(), "an exact integer");

            var some = await client.Storage.GetAsync(new[] { "10", "twice", "nobody" });
            Check.Sequence(new[] { "10", "twice" }, some.Keys.OrderBy(key => key, StringComparer.Ordinal), "these keys alone");
            var page = await client.Storage.ListAsync(first: 2);
            Check.Equal("10 2, __proto__ 18", string.Join(", ", page.Keys.Select(one => one.Key + " " + one.Bytes)), "a page of keys");
            Check.Equal("__proto__", page.Next, "where the next page begins");
            page = await client.Storage.ListAsync(page.Next);
            Check.Equal(values.Count - 2, page.Keys.Count, "the other keys");
            Check.Equal(null, page.Next, "the end of the list");
            await client.Storage.SetAsync("10", " { \"a\" : 1 } ");
            await client.Storage.DeleteAsync(values.Keys.Where(key => key != "10"));
            all = await client.Storage.GetAsync();
            Check.Equal("10={ \"a\" : 1 }", string.Join(",", all.Select(one => one.Key + "=" + one.Value)), "what is left");

            foreach (var wrong in new[] { "", "1,\"b\":2", "undefined", "{", "\"\ud800\"" })
                await Check.ThrowsAsync<JsonFormatException>(() => client.Storage.SetAsync("a", wrong), wrong);
            var error = await Check.ThrowsAsync<TierwayException>(
                () => client.Storage.SetAsync("large", Json.Quote(new string('x', 65536))),
                "a value that is too large");
            Check.Equal("400 " + ErrorCodes.StorageLimitExceeded, error.Status + " " + error.Code, "a value that is too large");
            Check.Equal(1, (await client.Storage.GetAsync()).Count, "nothing of what was refused is stored");

            // A balance at the maximum of 64 bits.
            var player = await client.PlayerAsync();
            await Program.AskAsync("rich " + player.PlayerId);
            player = await client.PlayerAsync();
            Check.Equal("shards", player.Wallet.Single().Currency, "a currency");
            Check.Equal(long.MaxValue, player.Wallet.Single().Amount, "a balance");
        }

        private static async Task RefusedAsync(Func<Task<ClaimResult>> claim, string error)
        {
            var result = await claim();
            Check.True(!result.Success && !result.AlreadyClaimed && result.Granted.Count == 0, "a no: " + error);
            Check.Equal(error, result.Error, "why not");
        }

        private static void Expect(List<string> told, params string[] expected)
        {
            Check.Sequence(expected, told, "what was told");
            told.Clear();
        }

        private static string Crossings(ExecutionPlan plan)
        {
            return string.Join(", ", plan.Crossed.Select(one => one.NodeId + " " + one.Handle));
        }

        private static string Line(Progress one)
        {
            return one.Level + " " + one.Xp + " " + one.PremiumOwned + " " + one.ClaimedTiers.Count;
        }

        private static string TierLine(GrantedTier tier)
        {
            return tier.Level + " " + tier.Track + " " + Check.Rewards(tier.Granted);
        }
    }
}
