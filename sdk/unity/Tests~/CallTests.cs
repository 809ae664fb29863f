using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    internal static class CallTests
    {
        public static async Task RefusalsAsync()
        {
            var client = await Program.NewPlayerAsync();
            var season = await client.Scenario("season-1").StartAsync();
            var pass = season.BattlePass("pass");
            var error = await Check.ThrowsAsync<TierwayException>(
                () => pass.AddXpAsync(0, new string('x', 65)),
                "xp of nothing from too long a source");
            Check.Equal("400 " + ErrorCodes.InvalidRequest, error.Status + " " + error.Code, "a fault of the request");
            Check.Sequence(new[] { "amount", "source" }, error.Details.Select(one => one.Path), "each fault is named");
            Check.True(error.Details.All(one => one.Message.Length > 0), "in words");
            Check.True(error.RequestId.Length > 8, "the id for the service's log");
            Check.True(error.Message.Contains("amount") && error.Message.Contains(error.RequestId), "a message that says all of it");
            Check.True(!error.Retryable && !error.IsOutcomeUnknown, "nothing was done");

            await RefusedAsync(() => client.Scenario("none").StartAsync(), 404, ErrorCodes.ScenarioNotFound);
            await RefusedAsync(() => season.BattlePass("none").ProgressAsync(), 404, ErrorCodes.NodeNotFound);
            await RefusedAsync(() => season.CrossAsync("pass", "onLevelUp"), 403, ErrorCodes.HandleServerOwned);
            await RefusedAsync(() => season.BattlePass("none").ClaimAllAsync(), 404, ErrorCodes.NodeNotFound);
            var key = Guid.NewGuid().ToString();
            await pass.AddXpAsync(10, idempotencyKey: key);
            await pass.AddXpAsync(10, idempotencyKey: key);
            Check.Equal(10L, (await pass.ProgressAsync()).Xp, "a key that is given counts once");
            error = await RefusedAsync(() => pass.AddXpAsync(11, idempotencyKey: key), 422, ErrorCodes.IdempotencyKeyReused);
            Check.Equal(key, error.IdempotencyKey, "the key of the call");
            foreach (var wrong in new[] { "", " a", "\u00e9", "a\nb", new string('k', 256) })
                await Check.ThrowsAsync<ArgumentException>(() => pass.AddXpAsync(1, idempotencyKey: wrong), wrong);

            Check.Throws<ArgumentException>(() => new TierwayClient(new TierwayOptions { SdkKey = "a" }), "no address");
            Check.Throws<ArgumentException>(() => new TierwayClient(new TierwayOptions { SdkKey = "a", BaseUrl = "/here" }), "half an address");
            Check.Throws<ArgumentException>(() => new TierwayClient(new TierwayOptions { BaseUrl = "http://a" }), "no key");
        }

        /// <summary>The first answer of every call is lost after the service has committed it.</summary>
        public static async Task LostAnswersAsync()
        {
            var client = await Program.NewPlayerAsync();
            await Program.AskAsync("lose 1");
            var season = await client.Scenario("season-1").StartAsync();
            var pass = season.BattlePass("pass");
            var levels = new List<string>();
            pass.LevelUp += up => levels.Add(up.FromLevel + " to " + up.ToLevel);
            await pass.ProgressAsync();
            Check.Equal(1100L, (await pass.AddXpAsync(1100, "match")).Xp, "xp is counted once");
            Check.Sequence(new[] { "1 to 3" }, levels, "a level is told once");
            var claim = await pass.ClaimAsync(2, Track.Free);
            Check.True(claim.Success && !claim.AlreadyClaimed, "a claim is answered as it was the first time");
            var premium = await pass.BuyPremiumAsync();
            Check.True(premium.Success && premium.Plan.Granted.Count == 1, "so is a purchase");
            var all = await pass.ClaimAllAsync();
            Check.True(all.Claimed.Count > 0, "what a lost answer told is answered again");
            Check.Equal(6, (await pass.ProgressAsync()).ClaimedTiers.Count, "and was done");
            await client.Storage.SetAsync("a", "1");
            Check.Equal("1", (await client.Storage.GetAsync())["a"], "a value");
            var player = await client.PlayerAsync();
            await Program.AskAsync("books " + player.PlayerId);
        }

        /// <summary>No answer arrives at all.</summary>
        public static async Task UnknownAsync()
        {
            var client = await Program.NewPlayerAsync(LoginTests.OptionsOn(new MemoryTokenStorage(), 1));
            var season = await client.Scenario("season-1").StartAsync();
            var pass = season.BattlePass("pass");
            await Program.AskAsync("lose 99");
            var error = await Check.ThrowsAsync<TierwayException>(() => pass.AddXpAsync(100), "every answer is lost");
            Check.Equal("0 " + ErrorCodes.Network + " True True", Line(error), "a call without an answer");
            var read = await Check.ThrowsAsync<TierwayException>(() => pass.ProgressAsync(), "every answer is lost");
            Check.True(!read.IsOutcomeUnknown && read.IdempotencyKey == null, "a read changes nothing");
            await Program.AskAsync("lose 0");
            await pass.AddXpAsync(100, idempotencyKey: error.IdempotencyKey);
            Check.Equal(100L, (await pass.ProgressAsync()).Xp, "made again with its key it is done once");

            var options = LoginTests.OptionsOn(new MemoryTokenStorage(), 1);
            options.Timeout = TimeSpan.FromSeconds(1);
            var hasty = await Program.NewPlayerAsync(options);
            pass = (await hasty.Scenario("season-1").StartAsync()).BattlePass("pass");
            await Program.AskAsync("freeze");
            error = await Check.ThrowsAsync<TierwayException>(() => pass.AddXpAsync(100), "nothing is heard");
            Check.Equal("0 " + ErrorCodes.Timeout + " True True", Line(error), "a call that is not answered in time");
            await Program.AskAsync("thaw");
            await pass.AddXpAsync(100, idempotencyKey: error.IdempotencyKey);
            Check.Equal(100L, (await pass.ProgressAsync()).Xp, "made again with its key it is done once");
            await Check.ThrowsAsync<TierwayException>(
                () => new TierwayClient(new TierwayOptions { BaseUrl = "http://127.0.0.1:1", SdkKey = "a", MaxRetries = 0 }).LoginAsync(
                    new LoginRequest { CustomData = "{}" }),
                "nobody is there");
        }

        /// <summary>A call with limits of its own, among calls with those of the client.</summary>
        public static async Task LimitsAsync()
        {
            var client = await Program.NewPlayerAsync();
            var pass = (await client.Scenario("season-1").StartAsync()).BattlePass("pass");
            await Program.AskAsync("freeze");
            var watch = Stopwatch.StartNew();
            var hasty = new CallOptions { Timeout = TimeSpan.FromMilliseconds(300), MaxRetries = 0 };
            foreach (var call in new Func<Task>[]
            {
                () => pass.ProgressAsync(hasty),
                () => pass.AddXpAsync(1, callOptions: hasty),
                () => client.PlayerAsync(hasty),
                () => client.Inbox.ListAsync(callOptions: hasty),
                () => client.Storage.GetAsync(null, hasty),
                () => client.Account.SessionsAsync(hasty),
                () => client.LoginAsync(new LoginRequest { CustomData = "{}" }, hasty),
            })
            {
                var error = await Check.ThrowsAsync<TierwayException>(call, "a call that is not answered in time");
                Check.Equal(ErrorCodes.Timeout, error.Code, "why");
            }
            Check.True(watch.Elapsed < TimeSpan.FromSeconds(9), "one attempt each, shorter than that of the client");
            await Program.AskAsync("thaw");
            await Program.AskAsync("answer 503 0");
            await Check.ThrowsAsync<TierwayException>(
                () => pass.AddXpAsync(1, callOptions: new CallOptions { MaxRetries = 0 }),
                "a failure that is not retried");
            await Program.AskAsync("answer 503 0");
            Check.Equal(2L, (await pass.AddXpAsync(2)).Xp, "the next call is retried as ever");
            foreach (var wrong in new[] { new CallOptions { Timeout = TimeSpan.Zero }, new CallOptions { MaxRetries = -1 } })
                await Check.ThrowsAsync<ArgumentException>(() => pass.ProgressAsync(wrong), "no limits");
        }

        public static async Task WaitsAsync()
        {
            var client = await Program.NewPlayerAsync();
            var season = await client.Scenario("season-1").StartAsync();
            var pass = season.BattlePass("pass");
            var watch = Stopwatch.StartNew();
            await Program.AskAsync("answer 429 1");
            Check.Equal(5L, (await pass.AddXpAsync(5)).Xp, "made again after a 429");
            Check.True(watch.Elapsed >= TimeSpan.FromSeconds(1), "not before its time");
            foreach (var status in new[] { "408", "502", "503", "504" })
            {
                await Program.AskAsync("answer " + status + " 0");
                await pass.AddXpAsync(5);
            }
            Check.Equal(25L, (await pass.ProgressAsync()).Xp, "each is counted once");
            await Program.AskAsync("answer 503 61");
            var error = await Check.ThrowsAsync<TierwayException>(() => pass.AddXpAsync(5), "a longer wait than a minute");
            Check.Equal(61.0, error.RetryAfter.Value.TotalSeconds, "how long it would be");
            Check.True(error.Retryable && error.IsOutcomeUnknown, "it may have been done");
            foreach (var status in new[] { "400", "404", "409", "500", "501" })
            {
                await Program.AskAsync("answer " + status + " 0");
                error = await Check.ThrowsAsync<TierwayException>(() => pass.AddXpAsync(5), status);
                Check.Equal(status, error.Status.ToString(), "it is not made again");
            }
            Check.Equal(25L, (await pass.ProgressAsync()).Xp, "nothing was counted");
        }

        /// <summary>The answers are not from the service.</summary>
        public static async Task ForeignAsync()
        {
            var client = await Program.NewPlayerAsync(LoginTests.OptionsOn(new MemoryTokenStorage(), 1));
            var season = await client.Scenario("season-1").StartAsync();
            var pass = season.BattlePass("pass");
            foreach (var page in new[] { "page", "list", "bytes", "redirect", "less" })
            {
                await Program.AskAsync("foreign " + page);
                var error = await Check.ThrowsAsync<TierwayException>(() => pass.ProgressAsync(), page);
                Check.Equal(ErrorCodes.InvalidResponse, error.Code, page);
            }
            await Program.AskAsync("foreign half");
            Check.Equal(0L, (await pass.ProgressAsync()).Xp, "half an answer is none, and is asked for again");
            await Program.AskAsync("foreign page");
            var changing = await Check.ThrowsAsync<TierwayException>(() => pass.AddXpAsync(5), "a page in place of an answer");
            Check.True(changing.IsOutcomeUnknown && changing.Retryable, "whether it was done is not known");
            await pass.AddXpAsync(5, idempotencyKey: changing.IdempotencyKey);
            Check.Equal(5L, (await pass.ProgressAsync()).Xp, "made again with its key it is done once");
        }

        /// <summary>The service is killed while players play, and starts again.</summary>
        public static async Task CrashAsync()
        {
            const int Players = 4;
            const int Calls = 30;
            var clients = new List<TierwayClient>();
            for (var number = 0; number < Players; number++)
                clients.Add(await Program.NewPlayerAsync(LoginTests.OptionsOn(new MemoryTokenStorage(), 40)));
            var done = 0;
            var told = 0;
            var playing = Task.WhenAll(
                clients.Select(async client =>
                {
                    var season = await client.Scenario("season").StartAsync();
                    var pass = season.BattlePass("pass");
                    pass.LevelUp += up => told++;
                    for (var call = 0; call < Calls; call++)
                    {
                        await pass.AddXpAsync(20, "match");
                        done++;
                    }
                    Check.Equal(20L * Calls, (await pass.ProgressAsync()).Xp, "all xp is counted once");
                    var claimed = 0;
                    for (var level = 1; level <= 5; level++) claimed += (await pass.ClaimAsync(level, Track.Free)).Granted.Count;
                    Check.Equal(5, claimed, "claims");
                }));
            await Check.UntilAsync(() => done >= Players * Calls / 2 || playing.IsFaulted, "the players play");
            await Program.AskAsync("kill");
            await playing;
            Check.Equal(4 * Players, told, "every level is told once");
        }

        public static async Task ContextAsync()
        {
            var thread = Thread.CurrentThread.ManagedThreadId;
            var client = await Program.NewPlayerAsync();
            var places = new List<int>();
            client.SignedOut += reason => places.Add(Thread.CurrentThread.ManagedThreadId);
            var season = await client.Scenario("season-1").StartAsync();
            var pass = season.BattlePass("pass");
            season.Crossed += crossing => { throw new InvalidOperationException("a handler of the game"); };
            season.Crossed += crossing => places.Add(Thread.CurrentThread.ManagedThreadId);
            pass.LevelUp += up => { throw new InvalidOperationException("another handler of the game"); };
            pass.LevelUp += up => places.Add(Thread.CurrentThread.ManagedThreadId);
            season.Granted += rewards => places.Add(Thread.CurrentThread.ManagedThreadId);
            Check.Equal(500L, (await pass.AddXpAsync(500)).Xp, "handlers that throw do not break the call");
            await pass.ClaimAsync(2, Track.Free);
            Check.Equal(2, Program.Errors.Count(error => error is InvalidOperationException), "they are reported");

            var heard = new TaskCompletionSource<int>();
            using (var listening = new CancellationTokenSource())
            {
                var stream = client.EventsAsync(
                    happened => { heard.TrySetResult(Thread.CurrentThread.ManagedThreadId); },
                    cancellationToken: listening.Token);
                while (!heard.Task.IsCompleted) await Task.WhenAny(heard.Task, PlayAsync(pass));
                places.Add(await heard.Task);
                listening.Cancel();
                await Check.ThrowsAsync<OperationCanceledException>(() => stream, "a stream that is ended");
            }
            await client.LogoutAsync();
            Check.True(places.Count >= 5 && places.All(place => place == thread), "all is told on the thread of the caller");
            Check.Equal(thread, Thread.CurrentThread.ManagedThreadId, "which the caller is still on");

            // Without a synchronization context, as in a tool.
            await Task.Run(async () =>
            {
                var options = Program.Options();
                options.Transport = null;
                var plain = await Program.NewPlayerAsync(options);
                var run = await plain.Scenario("season-1").StartAsync();
                await Task.WhenAll(Enumerable.Range(0, 8).Select(number => run.BattlePass("pass").AddXpAsync(10)));
                Check.Equal(80L, (await run.BattlePass("pass").ProgressAsync()).Xp, "calls at once");
            });
        }

        private static async Task PlayAsync(BattlePass pass)
        {
            await pass.AddXpAsync(600);
            await Task.Delay(20);
        }

        public static async Task CancelAsync()
        {
            var storage = new MemoryTokenStorage();
            await storage.SaveAsync(await LoginTests.RefusedPairAsync(), CancellationToken.None);
            var client = LoginTests.ClientOn(storage);
            await Program.AskAsync("hold");
            using (var hasty = new CancellationTokenSource())
            {
                var first = client.PlayerAsync(cancellationToken: hasty.Token);
                var second = client.PlayerAsync();
                await Program.AskAsync("held");
                hasty.Cancel();
                await Check.ThrowsAsync<OperationCanceledException>(() => first, "who does not wait any more");
                Check.True(!second.IsCompleted, "others still wait");
                await Program.AskAsync("release");
                await second;
            }
            await Program.AskAsync("freeze");
            using (var hasty = new CancellationTokenSource(100))
                await Check.ThrowsAsync<OperationCanceledException>(() => client.PlayerAsync(cancellationToken: hasty.Token), "a call that is cancelled");
            var call = client.PlayerAsync();
            var stream = client.EventsAsync(happened => { });
            await Task.Delay(100);
            client.Dispose();
            await Check.ThrowsAsync<OperationCanceledException>(() => call, "a call of a client that is disposed of");
            await Check.ThrowsAsync<OperationCanceledException>(() => stream, "its stream");
            await Check.ThrowsAsync<ObjectDisposedException>(() => client.PlayerAsync(), "a later call");
            Check.True(await storage.LoadAsync(CancellationToken.None) != null, "the login stays kept");
            await Program.AskAsync("thaw");
        }

        private static async Task<TierwayException> RefusedAsync(Func<Task> call, int status, string code)
        {
            var error = await Check.ThrowsAsync<TierwayException>(call, code);
            Check.Equal(status + " " + code, error.Status + " " + error.Code, "a refusal");
            return error;
        }

        private static string Line(TierwayException error)
        {
            return error.Status + " " + error.Code + " " + error.Retryable + " " + error.IsOutcomeUnknown;
        }
    }
}
