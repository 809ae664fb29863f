using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    internal static class EventTests
    {
        public static async Task ListenAsync()
        {
            var client = await Program.NewPlayerAsync();
            var heard = new List<TierwayEvent>();
            TierwayEvent started;
            using (var listening = new CancellationTokenSource())
            {
                var stream = client.EventsAsync(happened => heard.Add(happened), cancellationToken: listening.Token);
                var season = await UntilHeardAsync(client, heard, stream);
                started = heard.First();
                await season.BattlePass("pass").AddXpAsync(1100, "match");
                await Check.UntilAsync(() => heard.Any(one => one.Handle == Handles.LevelUp), "a level is heard of");
                listening.Cancel();
                await Check.ThrowsAsync<OperationCanceledException>(() => stream, "a stream that is ended");
            }
            var levelUp = heard.Single(one => one.Handle == Handles.LevelUp);
            Check.Equal("season-1 pass", levelUp.ScenarioId + " " + levelUp.NodeId, "where");
            Check.Equal((await client.PlayerAsync()).PlayerId, levelUp.PlayerId, "who");
            Check.True(levelUp.RunId != null && levelUp.Cursor.Length > 0, "the run and the cursor");
            Check.True(Math.Abs((DateTimeOffset.UtcNow - levelUp.OccurredAt).TotalMinutes) < 5, "when");
            var told = levelUp.LevelUp;
            Check.Equal("1 3 1100 match", told.FromLevel + " " + told.ToLevel + " " + told.Xp + " " + told.Source, "what");
            Check.Equal(3, levelUp.Data["toLevel"].AsInt32(), "its members");

            // A replay after a cursor has the same events in the same order.
            var again = await TakeAsync(client, started.Cursor, heard.Count - 1);
            Check.Sequence(heard.Skip(1).Select(one => one.Cursor), again.Select(one => one.Cursor), "what came after a cursor");

            // A handler is awaited. Its exception ends the listening, and its event does not count as delivered.
            var open = 0;
            var count = 0;
            var error = await Check.ThrowsAsync<InvalidOperationException>(
                () => client.EventsAsync(
                    async happened =>
                    {
                        Check.Equal(0, open++, "one at a time");
                        await Task.Delay(30);
                        open--;
                        if (++count == 2) throw new InvalidOperationException("enough");
                    },
                    started.Cursor),
                "a handler that throws");
            Check.Equal("enough", error.Message, "what it threw");
            Check.Equal(2, count, "nothing after it");
            await Check.ThrowsAsync<TierwayException>(() => new TierwayClient(Program.Options()).EventsAsync(happened => { }), "nobody");
        }

        /// <summary>Only what the filter lets through.</summary>
        public static async Task FilterAsync()
        {
            var client = await Program.NewPlayerAsync();
            var start = new List<TierwayEvent>();
            using (var listening = new CancellationTokenSource())
            {
                var all = client.EventsAsync(happened => start.Add(happened), cancellationToken: listening.Token);
                await UntilHeardAsync(client, start, all);
                listening.Cancel();
            }
            var after = start.First().Cursor;
            var pass = (await client.Scenario("season-1").StartAsync()).BattlePass("pass");
            await (await client.Scenario("story").StartAsync()).CrossAsync("intro", "onAccept");
            await pass.AddXpAsync(1100, "match");
            await pass.BuyPremiumAsync();
            var handles = new EventFilter { Handles = new[] { Handles.LevelUp, Handles.PremiumPurchase } };
            Check.Sequence(
                new[] { "pass onLevelUp CROSSING", "pass onPremiumPurchase CROSSING" },
                (await TakeAsync(client, after, 2, handles)).Select(one => one.NodeId + " " + one.Handle + " " + one.Type),
                "handles");
            Check.Sequence(
                new[] { "story", "story", "story" },
                (await TakeAsync(client, after, 3, new EventFilter { ScenarioId = "story" })).Select(one => one.ScenarioId).Take(3),
                "a scenario");
            var node = new EventFilter { ScenarioId = "season-1", NodeId = "pass" };
            Check.Sequence(
                new[] { "season-1 pass", "season-1 pass" },
                (await TakeAsync(client, after, 2, node)).Select(one => one.ScenarioId + " " + one.NodeId),
                "a node of a scenario");
        }

        /// <summary>The connection breaks again and again.</summary>
        public static async Task CutAsync()
        {
            const int Runs = 24;
            var client = await Program.NewPlayerAsync();
            var heard = new List<string>();
            using (var listening = new CancellationTokenSource())
            {
                var all = new List<TierwayEvent>();
                var stream = client.EventsAsync(
                    happened =>
                    {
                        all.Add(happened);
                        if (happened.LevelUp != null) heard.Add(happened.LevelUp.Source);
                    },
                    cancellationToken: listening.Token);
                var season = await UntilHeardAsync(client, all, stream);
                var pass = season.BattlePass("pass");
                for (var run = 0; run < Runs; run++)
                {
                    await pass.AddXpAsync(1500, "run " + run);
                    if (run % 6 == 2) await Program.AskAsync("cut");
                }
                await Check.UntilAsync(() => heard.Count >= Runs || stream.IsCompleted, "all is heard");
                Check.Sequence(Enumerable.Range(0, Runs).Select(run => "run " + run), heard, "each once, and in order");
                Check.Equal(all.Count, all.Select(one => one.Cursor).Distinct().Count(), "nothing twice");
                listening.Cancel();
                await Check.ThrowsAsync<OperationCanceledException>(() => stream, "a stream that is ended");
            }
        }

        /// <summary>A silent, dead connection is closed.</summary>
        public static async Task SilentAsync()
        {
            var options = Program.Options();
            options.EventSilence = TimeSpan.FromSeconds(1.5);
            var client = await Program.NewPlayerAsync(options);
            var heard = new List<TierwayEvent>();
            using (var listening = new CancellationTokenSource())
            {
                var stream = client.EventsAsync(happened => heard.Add(happened), cancellationToken: listening.Token);
                var season = await UntilHeardAsync(client, heard, stream);
                await Program.AskAsync("freeze-streams");
                await season.BattlePass("pass").AddXpAsync(1100, "unheard");
                await Check.UntilAsync(() => heard.Any(one => one.LevelUp != null), "what was missed is heard");
                Check.Equal(1, heard.Count(one => one.LevelUp != null), "once");
                listening.Cancel();
                await Check.ThrowsAsync<OperationCanceledException>(() => stream, "a stream that is ended");
            }
        }

        public static async Task ExpiredAsync()
        {
            var client = await Program.NewPlayerAsync();
            var error = await Check.ThrowsAsync<TierwayException>(
                () => client.EventsAsync(happened => { }, Program.Setting("TIERWAY_OLD_CURSOR")),
                "a cursor that cannot be honoured");
            Check.Equal("410 " + ErrorCodes.CursorExpired, error.Status + " " + error.Code, "why");
            error = await Check.ThrowsAsync<TierwayException>(() => client.EventsAsync(happened => { }, "nonsense"), "no cursor");
            Check.Equal(ErrorCodes.InvalidRequest, error.Code, "why");
            Check.Equal("after", error.Details.Single().Path, "where");
        }

        /// <summary>The access token is refused, and then the login ends.</summary>
        public static async Task TokenAsync()
        {
            var storage = new MemoryTokenStorage();
            await storage.SaveAsync(await LoginTests.RefusedPairAsync(), CancellationToken.None);
            var client = LoginTests.ClientOn(storage);
            var signedOut = 0;
            client.SignedOut += reason => signedOut++;
            var heard = new List<TierwayEvent>();
            var stream = client.EventsAsync(happened => heard.Add(happened), Program.Setting("TIERWAY_CURSOR"));
            await UntilHeardAsync(client, heard, stream);
            Check.Equal(0, signedOut, "the token was replaced");

            var copy = new MemoryTokenStorage();
            await copy.SaveAsync(await storage.LoadAsync(CancellationToken.None), CancellationToken.None);
            await LoginTests.ClientOn(copy).LogoutAsync();
            await Program.AskAsync("cut");
            var error = await Check.ThrowsAsync<TierwayException>(() => stream, "a login that has ended");
            Check.Equal(ErrorCodes.InvalidToken, error.Code, "why");
            Check.Equal(1, signedOut, "it is told");
        }

        /// <summary>Starts runs until the stream delivers one, which shows that it listens.</summary>
        private static async Task<ScenarioSession> UntilHeardAsync(TierwayClient client, List<TierwayEvent> heard, Task stream)
        {
            var story = await client.Scenario("story").StartAsync();
            for (var turn = 0; turn < 500 && heard.Count == 0 && !stream.IsCompleted; turn++)
            {
                await story.CrossAsync("intro", "onAccept");
                await Task.Delay(20);
            }
            if (stream.IsCompleted) await stream;
            return await client.Scenario("season-1").StartAsync();
        }

        private static async Task<List<TierwayEvent>> TakeAsync(
            TierwayClient client,
            string after,
            int count,
            EventFilter filter = null)
        {
            var heard = new List<TierwayEvent>();
            using (var listening = new CancellationTokenSource())
            {
                var stream = client.EventsAsync(happened => heard.Add(happened), after, filter, listening.Token);
                await Check.UntilAsync(() => heard.Count >= count || stream.IsCompleted, "events after a cursor");
                listening.Cancel();
                await Check.ThrowsAsync<OperationCanceledException>(() => stream, "a stream that is ended");
            }
            return heard;
        }
    }
}
