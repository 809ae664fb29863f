using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    /// <summary>
    /// Runs one case against a running service: <c>tests.exe NAME</c>. TIERWAY_URL and TIERWAY_SDK_KEY name the
    /// service. It ends with 0 on success, and otherwise prints the failed check.
    /// </summary>
    internal static class Program
    {
        private static readonly Dictionary<string, Func<Task>> Cases = new Dictionary<string, Func<Task>>
        {
            { "json", JsonTests.RunAsync },
            { "season", SeasonTests.PlayAsync },
            { "cases", CaseTests.RunAsync },
            { "storage", SeasonTests.StorageAsync },
            { "login", LoginTests.LoginAsync },
            { "login-refused", LoginTests.RefusedAsync },
            { "guest", LoginTests.GuestAsync },
            { "id-token", LoginTests.IdTokenAsync },
            { "account", AccountTests.AccountAsync },
            { "refresh", LoginTests.RefreshAsync },
            { "parked-refresh", ParkedTests.RefreshAsync },
            { "parked-turns", ParkedTests.TurnsAsync },
            { "adopt", LoginTests.AdoptAsync },
            { "early", LoginTests.EarlyAsync },
            { "clock", LoginTests.ClockAsync },
            { "offline", LoginTests.OfflineAsync },
            { "ended", LoginTests.EndedAsync },
            { "logout", LoginTests.LogoutAsync },
            { "replaced", LoginTests.ReplacedAsync },
            { "broken-storage", LoginTests.BrokenStorageAsync },
            { "refusals", CallTests.RefusalsAsync },
            { "lost", CallTests.LostAnswersAsync },
            { "unknown", CallTests.UnknownAsync },
            { "waits", CallTests.WaitsAsync },
            { "foreign", CallTests.ForeignAsync },
            { "limits", CallTests.LimitsAsync },
            { "crash", CallTests.CrashAsync },
            { "context", CallTests.ContextAsync },
            { "cancel", CallTests.CancelAsync },
            { "events", EventTests.ListenAsync },
            { "events-filter", EventTests.FilterAsync },
            { "events-cut", EventTests.CutAsync },
            { "events-silent", EventTests.SilentAsync },
            { "events-expired", EventTests.ExpiredAsync },
            { "events-token", EventTests.TokenAsync },
            { "follow", FollowTests.FollowAsync },
            { "follow-toggled", FollowTests.ToggledAsync },
            { "follow-claims", FollowTests.ClaimsAsync },
            { "follow-cancelled", FollowTests.CancelledAsync },
            { "follow-ended", FollowTests.EndedAsync },
            { "former", FollowTests.FormerAsync },
            { "outbox", OutboxTests.OfflineAsync },
            { "outbox-refused", OutboxTests.RefusedAsync },
            { "outbox-players", OutboxTests.PlayersAsync },
            { "outbox-storage", OutboxTests.StorageAsync },
            { "outbox-held", OutboxTests.HeldAsync },
            { "parked-outbox", ParkedTests.OutboxAsync },
            { "parked-follow", ParkedTests.FollowAsync },
        };

        private static int Main(string[] arguments)
        {
            try
            {
                Func<Task> run;
                if (arguments.Length != 1 || !Cases.TryGetValue(arguments[0], out run))
                    throw new ArgumentException("one of these cases must be named: " + string.Join(", ", Cases.Keys));
                // One thread for all, as in a game.
                Pump.Run(run);
                Say("passed");
                // Idle connections must not keep the program alive.
                Environment.Exit(0);
                return 0;
            }
            catch (Exception error)
            {
                Console.Error.WriteLine(error);
                Environment.Exit(1);
                return 1;
            }
        }

        public static string Setting(string name)
        {
            var value = Environment.GetEnvironmentVariable(name);
            if (string.IsNullOrEmpty(value)) throw new ArgumentException(name + " must be set");
            return value;
        }

        /// <summary>Reports the progress to the test that started the program.</summary>
        public static void Say(string line)
        {
            Console.WriteLine(line);
            Console.Out.Flush();
        }

        /// <summary>Asks the test that started the program to do something, and waits until it is done.</summary>
        public static async Task AskAsync(string what)
        {
            Say("ask " + what);
            var answer = await Task.Run(() => Console.In.ReadLine());
            Check.Equal(what, answer, "what was done");
        }

        public static TierwayOptions Options()
        {
            return new TierwayOptions
            {
                BaseUrl = Setting("TIERWAY_URL"),
                SdkKey = Setting("TIERWAY_SDK_KEY"),
                OnError = error => Errors.Add(error),
                Transport = new OneThreadTransport(),
            };
        }

        /// <summary>Reported exceptions that failed no call.</summary>
        public static readonly List<Exception> Errors = new List<Exception>();

        private static int players;

        /// <summary>A client whose player has just logged in for the first time.</summary>
        public static async Task<TierwayClient> NewPlayerAsync(TierwayOptions options = null)
        {
            var client = new TierwayClient(options ?? Options());
            await client.LoginAsync(new LoginRequest { CustomData = CustomData(NewName()) });
            return client;
        }

        public static string NewName()
        {
            return "unity-" + Guid.NewGuid().ToString("N").Substring(0, 12) + "-" + ++players;
        }

        public static JsonValue CustomData(string player)
        {
            return "{\"player\":" + Json.Quote(player) + "}";
        }
    }

    /// <summary>A context of one thread, like Unity's: code continues there after an await.</summary>
    internal sealed class Pump : SynchronizationContext
    {
        private readonly BlockingCollection<KeyValuePair<SendOrPostCallback, object>> work =
            new BlockingCollection<KeyValuePair<SendOrPostCallback, object>>();

        public override void Post(SendOrPostCallback callback, object state)
        {
            if (!work.IsAddingCompleted) work.Add(new KeyValuePair<SendOrPostCallback, object>(callback, state));
        }

        private static int thread;

        /// <summary>Fails outside of the main thread, as Unity does.</summary>
        public static void Require()
        {
            if (Thread.CurrentThread.ManagedThreadId != thread) throw new Exception("called on another thread");
        }

        public static void Run(Func<Task> main)
        {
            thread = Thread.CurrentThread.ManagedThreadId;
            var pump = new Pump();
            SetSynchronizationContext(pump);
            var running = main();
            running.ContinueWith(task => pump.work.CompleteAdding(), TaskScheduler.Default);
            foreach (var one in pump.work.GetConsumingEnumerable()) one.Key(one.Value);
            running.GetAwaiter().GetResult();
        }
    }

    /// <summary>Carries requests from one thread only, as Unity does.</summary>
    internal sealed class OneThreadTransport : ITransport
    {
        private readonly HttpTransport http = new HttpTransport();

        public Task<TransportResponse> SendAsync(TransportRequest request, CancellationToken cancellationToken)
        {
            Pump.Require();
            return http.SendAsync(request, cancellationToken);
        }

        public Task<ITransportStream> OpenAsync(TransportRequest request, CancellationToken cancellationToken)
        {
            Pump.Require();
            return http.OpenAsync(request, cancellationToken);
        }

        public Task DelayAsync(TimeSpan delay, CancellationToken cancellationToken)
        {
            Pump.Require();
            return http.DelayAsync(delay, cancellationToken);
        }

        public void Dispose()
        {
            http.Dispose();
        }
    }

    internal static class Check
    {
        public static void True(bool holds, string what)
        {
            if (!holds) throw new Exception("does not hold: " + what);
        }

        public static void Equal<T>(T expected, T actual, string what)
        {
            if (!EqualityComparer<T>.Default.Equals(expected, actual))
                throw new Exception(what + ": expected " + expected + ", was " + actual);
        }

        public static void Sequence<T>(IEnumerable<T> expected, IEnumerable<T> actual, string what)
        {
            Equal(string.Join(" | ", expected), string.Join(" | ", actual), what);
        }

        public static T Throws<T>(Action act, string what)
            where T : Exception
        {
            try
            {
                act();
            }
            catch (T error)
            {
                return error;
            }
            throw new Exception("was not refused: " + what);
        }

        public static async Task<T> ThrowsAsync<T>(Func<Task> act, string what)
            where T : Exception
        {
            try
            {
                await act();
            }
            catch (T error)
            {
                return error;
            }
            throw new Exception("was not refused: " + what);
        }

        public static async Task UntilAsync(Func<bool> holds, string what)
        {
            for (var turn = 0; turn < 2000; turn++)
            {
                if (holds()) return;
                await Task.Delay(10);
            }
            throw new Exception("did not happen: " + what);
        }

        public static string Rewards(IEnumerable<Reward> rewards)
        {
            return string.Join(", ", rewards.Select(one => one.Amount + " " + (one.Currency ?? one.ItemId)));
        }
    }
}
