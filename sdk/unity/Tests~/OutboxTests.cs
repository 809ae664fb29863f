using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    internal static class OutboxTests
    {
        /// <summary>A storage that can fail, and calls what a test wants after each write.</summary>
        private sealed class ScriptedStorage : ITextStorage
        {
            public string Text;
            public bool Fails;
            public Func<string, Task> Written = text => Task.FromResult(true);

            public Task<string> LoadAsync(CancellationToken cancellationToken)
            {
                return Task.FromResult(Text);
            }

            public async Task SaveAsync(string text, CancellationToken cancellationToken)
            {
                if (Fails) throw new InvalidOperationException("the disk is full");
                Text = text;
                await Written(text);
            }
        }

        /// <summary>A storage whose writes end when the test says so, and fail when it says so.</summary>
        private sealed class HeldStorage : ITextStorage
        {
            public readonly Queue<TaskCompletionSource<bool>> Held = new Queue<TaskCompletionSource<bool>>();
            public bool Holds;
            public string Text;

            public Task<string> LoadAsync(CancellationToken cancellationToken)
            {
                return Task.FromResult(Text);
            }

            public async Task SaveAsync(string text, CancellationToken cancellationToken)
            {
                if (Holds)
                {
                    var held = new TaskCompletionSource<bool>();
                    Held.Enqueue(held);
                    await held.Task;
                }
                Text = text;
            }
        }

        /// <summary>A write that fails while the outbox sends, and one that nobody waits for any more.</summary>
        public static async Task HeldAsync()
        {
            var client = ClientOn(new MemoryTokenStorage());
            await client.LoginAsync(NewPlayer());
            var pass = (await client.Scenario("long").StartAsync()).BattlePass("pass");
            var storage = new HeldStorage();
            using (var outbox = new Outbox(client, storage))
            {
                storage.Holds = true;
                var failing = outbox.AddXpAsync(pass, 100, "failing");
                await Check.UntilAsync(() => storage.Held.Count == 1, "the write is under way");
                var waiting = outbox.FlushAsync();
                await Task.Delay(50);
                storage.Holds = false;
                storage.Held.Dequeue().SetException(new InvalidOperationException("the disk is full"));
                await Check.ThrowsAsync<InvalidOperationException>(() => failing, "xp that is not stored");
                await waiting;
                Check.Equal(0L, (await pass.ProgressAsync()).Xp, "it is not sent");

                storage.Holds = true;
                using (var leaving = new CancellationTokenSource())
                {
                    var left = outbox.AddXpAsync(pass, 100, "left", leaving.Token);
                    await Check.UntilAsync(() => storage.Held.Count == 1, "the write is under way");
                    leaving.Cancel();
                    await Check.ThrowsAsync<OperationCanceledException>(() => left, "nobody waits for it");
                }
                storage.Holds = false;
                var next = outbox.AddXpAsync(pass, 5, "next");
                storage.Held.Dequeue().SetResult(true);
                await next;
                await outbox.FlushAsync();
                Check.Equal(5L, (await pass.ProgressAsync()).Xp, "what was left does not count");
                Check.Equal("[]", storage.Text, "nor is it stored");
            }
        }

        private static TierwayClient ClientOn(ITokenStorage tokens)
        {
            return new TierwayClient(LoginTests.OptionsOn(tokens, 0));
        }

        private static LoginRequest NewPlayer()
        {
            return new LoginRequest { CustomData = Program.CustomData(Program.NewName()) };
        }

        private static async Task UntilEmptyAsync(Outbox outbox)
        {
            for (var turn = 0; turn < 2000; turn++)
            {
                if (await outbox.CountAsync() == 0) return;
                await Task.Delay(10);
            }
            throw new Exception("not all is sent");
        }

        /// <summary>A game without a network, which ends, and starts again.</summary>
        public static async Task OfflineAsync()
        {
            var tokens = new MemoryTokenStorage();
            var storage = new ScriptedStorage();
            var client = ClientOn(tokens);
            await client.LoginAsync(NewPlayer());
            var runId = (await client.Scenario("long").StartAsync()).RunId;
            await Program.AskAsync("down");
            using (var ended = new Outbox(client, storage))
            {
                var pass = client.Scenario("long").Open(runId).BattlePass("pass");
                for (var match = 1; match <= 3; match++) await ended.AddXpAsync(pass, match, "match " + match);
                Check.Equal(3, await ended.CountAsync(), "what waits");
                var error = await Check.ThrowsAsync<TierwayException>(() => ended.FlushAsync(), "there is no network");
                Check.Equal(ErrorCodes.Network, error.Code, "why");
            }
            client.Dispose();
            await Program.AskAsync("up");
            await Program.AskAsync("lose 1");

            var later = ClientOn(tokens);
            var sent = new List<string>();
            using (var outbox = new Outbox(later, storage))
            {
                outbox.Sent += one => sent.Add(one.Xp.Source + " " + one.Xp.Amount + " " + one.Result.Xp);
                await UntilEmptyAsync(outbox);
                Check.Sequence(new[] { "match 1 1 1", "match 2 2 3", "match 3 3 6" }, sent, "in order, each once");
                await Program.AskAsync("lose 0");
                var session = later.Scenario("long").Open(runId);
                var levels = new List<string>();
                session.BattlePass("pass").LevelUp += up => levels.Add((up.FromLevel ?? -1) + " to " + up.ToLevel);
                await session.BattlePass("pass").ProgressAsync();
                await outbox.AddXpAsync(session.BattlePass("pass"), 4, "match 4");
                await outbox.FlushAsync();
                Check.Sequence(new[] { "1 to 2" }, levels, "the session takes the answer in");
                Check.Equal(10L, (await session.BattlePass("pass").ProgressAsync()).Xp, "all of it");
                Check.Equal("[]", storage.Text, "what is left in the storage");
            }
            var player = await later.PlayerAsync();
            await Program.AskAsync("books " + player.PlayerId);
        }

        /// <summary>Xp of an ended run, and xp that has waited too long by the clock of the service.</summary>
        public static async Task RefusedAsync()
        {
            var client = ClientOn(new MemoryTokenStorage());
            await client.LoginAsync(NewPlayer());
            var session = await client.Scenario("long").StartAsync();
            var storage = new ScriptedStorage();
            await Program.AskAsync("down");
            using (var first = new Outbox(client, storage))
            {
                await first.AddXpAsync(session.BattlePass("pass"), 1, "ended");
                await first.AddXpAsync(session.BattlePass("pass"), 1, "old");
            }
            var stored = Json.Parse(storage.Text).Items;
            var sevenDaysAgo = DateTimeOffset.UtcNow.AddDays(-7).ToUnixTimeMilliseconds();
            storage.Text = "[" + stored[0].Raw + "," + stored[1].Raw.Replace("\"triedAt\":null", "\"triedAt\":" + sevenDaysAgo) + "]";
            await Program.AskAsync("end " + session.RunId);
            await Program.AskAsync("up");
            using (var outbox = new Outbox(client, storage))
            {
                var refused = new List<string>();
                outbox.Refused += one => refused.Add(one.Xp.Source + " " + one.Error.Code + " " + one.Error.IsOutcomeUnknown);
                await UntilEmptyAsync(outbox);
                await outbox.FlushAsync();
                Check.Sequence(new[] { "ended run_not_active False", "old timeout True" }, refused, "what is given up, and why");
                var next = (await client.Scenario("long").StartAsync()).BattlePass("pass");
                await outbox.AddXpAsync(next, 4);
                await outbox.FlushAsync();
                Check.Equal(4L, (await next.ProgressAsync()).Xp, "the next is sent");
            }
        }

        /// <summary>Several players of one device.</summary>
        public static async Task PlayersAsync()
        {
            var client = ClientOn(new MemoryTokenStorage());
            var player = NewPlayer();
            await client.LoginAsync(player);
            var pass = (await client.Scenario("long").StartAsync()).BattlePass("pass");
            var storage = new ScriptedStorage();
            await Program.AskAsync("down");
            using (var outbox = new Outbox(client, storage))
            {
                var refused = 0;
                outbox.Refused += one => refused++;
                await outbox.AddXpAsync(pass, 9);
                await client.LogoutAsync();
                await Check.ThrowsAsync<TierwayException>(() => outbox.AddXpAsync(pass, 9), "nobody is logged in");
                await Program.AskAsync("up");
                await client.LoginAsync(NewPlayer());
                await outbox.FlushAsync();
                Check.Equal(0, await outbox.CountAsync(), "nothing of this player");

                // A sister logs in between the last write and the call.
                var isChanged = false;
                var hasChanged = false;
                storage.Written = async text =>
                {
                    if (isChanged || text.Contains("\"triedAt\":null")) return;
                    isChanged = true;
                    await client.LoginAsync(NewPlayer());
                    hasChanged = true;
                };
                await client.LoginAsync(player);
                await Check.UntilAsync(() => hasChanged, "the sister has logged in");
                await client.LoginAsync(player);
                await UntilEmptyAsync(outbox);
                Check.Equal("9 0", (await pass.ProgressAsync()).Xp + " " + refused, "each player's xp is for that player");
            }
        }

        /// <summary>A storage with other texts in it, and one that fails.</summary>
        public static async Task StorageAsync()
        {
            var client = ClientOn(new MemoryTokenStorage());
            await client.LoginAsync(NewPlayer());
            var pass = (await client.Scenario("long").StartAsync()).BattlePass("pass");
            var odd = new[] { "{}", "null", "[1]", "{\"key\":\"k\",\"amount\":1.5}", "\"text\"" };
            var storage = new ScriptedStorage { Text = "[" + string.Join(",", odd) + "]" };
            using (var outbox = new Outbox(client, storage))
            {
                var unreadable = new List<string>();
                outbox.Unreadable += text => unreadable.Add(text);
                await outbox.AddXpAsync(pass, 7);
                await outbox.AddXpAsync(pass, 8);
                await outbox.FlushAsync();
                Check.Equal(15L, (await pass.ProgressAsync()).Xp, "other xp is sent");
                Check.Equal("[" + string.Join(",", odd) + "]", storage.Text, "what cannot be read stays");
                Check.Sequence(odd, unreadable, "each is told once");
                storage.Fails = true;
                await Check.ThrowsAsync<InvalidOperationException>(() => outbox.AddXpAsync(pass, 1), "xp that is not stored");
                storage.Fails = false;
                Check.Equal(0, await outbox.CountAsync(), "it is not sent");
                Check.Equal(15L, (await pass.ProgressAsync()).Xp, "nor counted");
            }
            storage = new ScriptedStorage { Text = "no json" };
            using (var outbox = new Outbox(client, storage))
            {
                var unreadable = new List<string>();
                outbox.Unreadable += text => unreadable.Add(text);
                await Task.WhenAll(Enumerable.Range(0, 30).Select(number => outbox.AddXpAsync(pass, 1)));
                await outbox.FlushAsync();
                Check.Sequence(new[] { "no json" }, unreadable, "a text that is no list");
                Check.Equal("[\"no json\"]", storage.Text, "it is kept in the list");
                Check.Equal(45L, (await pass.ProgressAsync()).Xp, "many at once count once each");
            }
        }
    }
}
