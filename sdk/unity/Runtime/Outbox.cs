using System;
using System.Collections.Generic;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>Xp that waits to be sent.</summary>
    public sealed class QueuedXp
    {
        /// <summary>Its idempotency key.</summary>
        public string Key { get; internal set; }

        public string ScenarioId { get; internal set; }

        public string NodeId { get; internal set; }

        public string RunId { get; internal set; }

        public long Amount { get; internal set; }

        /// <summary>The origin of the xp. Default: empty.</summary>
        public string Source { get; internal set; }
    }

    /// <summary>Xp that was added.</summary>
    public sealed class SentXp
    {
        public QueuedXp Xp { get; internal set; }

        public XpResult Result { get; internal set; }
    }

    /// <summary>Xp that cannot be added: the run or the season is over, or it has waited too long.</summary>
    public sealed class RefusedXp
    {
        public QueuedXp Xp { get; internal set; }

        public TierwayException Error { get; internal set; }
    }

    /// <summary>
    /// Sends the xp that a player earns, even if it was earned offline. Xp is kept in a storage with its idempotency key
    /// before it is sent, and it is sent in order. Each grant counts once, even if the game ended in between.
    /// </summary>
    public sealed class Outbox : IDisposable
    {
        /// <summary>
        /// The service knows keys for seven days. Xp that was sent may have been counted, so after six days it is not sent
        /// again.
        /// </summary>
        private static readonly TimeSpan LongestWait = TimeSpan.FromDays(6);
        private static readonly TimeSpan ShortestPause = TimeSpan.FromMilliseconds(200);
        /// <summary>It limits the time for which xp waits when the network is back, since no event tells that.</summary>
        private static readonly TimeSpan LongestPause = TimeSpan.FromSeconds(10);
        private static readonly TimeSpan StorageLimit = TimeSpan.FromSeconds(5);
        /// <summary>
        /// These errors last until a login, an operator or a new version of the service ends them. The xp is kept
        /// meanwhile.
        /// </summary>
        private static readonly string[] WaitingCodes =
        {
            ErrorCodes.NotSignedIn,
            ErrorCodes.InvalidToken,
            ErrorCodes.PlayerBanned,
            ErrorCodes.InvalidResponse,
            ErrorCodes.InternalError,
        };

        /// <summary>A stored grant.</summary>
        private sealed class Entry
        {
            /// <summary>Null for an entry that cannot be read. It stays in the storage as it is.</summary>
            public QueuedXp Xp;
            public string PlayerId;
            /// <summary>When it was first sent, by the service's clock; null before.</summary>
            public DateTimeOffset? TriedAt;
            /// <summary>The pass of this run of the game, which takes in the answer; null for an earlier run.</summary>
            public BattlePass Pass;
            /// <summary>The stored text of an entry that cannot be read.</summary>
            public string Text;
        }

        private readonly TierwayClient client;
        private readonly TierwayOptions options;
        private readonly ITextStorage storage;
        private readonly CancellationTokenSource ending;
        private readonly Turns storing = new Turns();
        private readonly Backoff backoff = new Backoff();
        private readonly object gate = new object();
        /// <summary>What is stored, in the order in which it was earned; null before it is loaded.</summary>
        private List<Entry> entries;
        private TaskCompletionSource<bool> sending;
        /// <summary>Xp was stored, or a player has logged in, since sending began.</summary>
        private bool isAsked;
        private int failed;
        /// <summary>The number of the last pause before an attempt. A pause with a lower one has no effect.</summary>
        private int pauses;

        /// <summary>Begins to send the stored xp of the logged-in player.</summary>
        /// <param name="client">The client of the player.</param>
        /// <param name="storage">
        /// One for each outbox, such as <c>new PlayerPrefsTextStorage("tierway.xp")</c>. In memory, xp is lost with the
        /// game.
        /// </param>
        public Outbox(TierwayClient client, ITextStorage storage)
        {
            if (client == null) throw new ArgumentNullException("client");
            if (storage == null) throw new ArgumentNullException("storage");
            this.client = client;
            this.storage = storage;
            options = client.Options;
            ending = CancellationTokenSource.CreateLinkedTokenSource(client.Caller.Lifetime);
            client.SignedIn += OnSignedIn;
            Wake();
        }

        /// <summary>Xp was added.</summary>
        public event Action<SentXp> Sent;

        /// <summary>Xp cannot be added. It is removed from the storage.</summary>
        public event Action<RefusedXp> Refused;

        /// <summary>
        /// The storage has this text in the place of xp. It stays there, and other xp is sent. When the whole text of the
        /// storage is meant, the next xp replaces it.
        /// </summary>
        public event Action<string> Unreadable;

        /// <summary>Stores xp, and sends it as soon as possible. Completes when it is stored.</summary>
        /// <exception cref="TierwayException">Nobody is logged in, or not the player of the session.</exception>
        public async Task<QueuedXp> AddXpAsync(
            BattlePass pass,
            long amount,
            string source = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (pass == null) throw new ArgumentNullException("pass");
            var playerId = client.PlayerId;
            if (playerId == null || !pass.Session.Caller.IsFor(playerId)) throw Tokens.NotSignedIn();
            var xp = new QueuedXp
            {
                Key = Caller.KeyOr(null),
                ScenarioId = pass.Session.ScenarioId,
                NodeId = pass.NodeId,
                RunId = pass.Session.RunId,
                Amount = amount,
                Source = source ?? "",
            };
            var entry = new Entry { Xp = xp, PlayerId = playerId, Pass = pass };
            await ChangeAsync(all => all.Add(entry), all => all.Remove(entry), cancellationToken);
            Wake();
            return xp;
        }

        /// <summary>The number of stored grants of the logged-in player.</summary>
        public async Task<int> CountAsync(CancellationToken cancellationToken = default(CancellationToken))
        {
            await client.RestoreAsync(cancellationToken);
            var all = await LoadedAsync(cancellationToken);
            lock (gate) return all.FindAll(IsOfPlayer).Count;
        }

        /// <summary>
        /// Sends everything that is stored. Completes when all is sent or refused. It throws when sending is not possible
        /// now; it continues later.
        /// </summary>
        public async Task FlushAsync(CancellationToken cancellationToken = default(CancellationToken))
        {
            try
            {
                await Sending().OrCancelledAsync(cancellationToken);
            }
            catch (TierwayException error)
            {
                throw error.Again();
            }
        }

        /// <summary>Stops sending. Stored xp stays stored.</summary>
        public void Dispose()
        {
            client.SignedIn -= OnSignedIn;
            ending.Cancel();
        }

        private void OnSignedIn(string playerId)
        {
            Wake();
        }

        private void Wake()
        {
            if (ending.IsCancellationRequested) return;
            lock (gate) isAsked = true;
            Sending();
        }

        /// <summary>All who wait for it share one.</summary>
        private Task<bool> Sending()
        {
            TaskCompletionSource<bool> mine = null;
            Task<bool> shared;
            lock (gate)
            {
                pauses++;
                if (sending == null) sending = mine = new TaskCompletionSource<bool>();
                shared = sending.Task;
            }
            if (mine != null) Run(mine);
            return shared;
        }

        /// <summary>Sends what is stored, and goes on later when that fails. Pauses grow with each failed attempt.</summary>
        private async void Run(TaskCompletionSource<bool> mine)
        {
            try
            {
                // The game adds its handlers before anything is sent.
                await Task.Yield();
                do
                {
                    lock (gate) isAsked = false;
                    await SendAllAsync();
                } while (IsAskedAgain());
                mine.TrySetResult(true);
            }
            catch (Exception error)
            {
                lock (gate) sending = null;
                mine.TrySetException(error);
                // Nobody may wait for it.
                GC.KeepAlive(mine.Task.Exception);
                if (!ending.IsCancellationRequested) WakeLater();
            }
        }

        /// <summary>Whether sending begins again. If not, the next one who asks begins it.</summary>
        private bool IsAskedAgain()
        {
            lock (gate)
            {
                if (isAsked && !ending.IsCancellationRequested) return true;
                sending = null;
                failed = 0;
                return false;
            }
        }

        private async void WakeLater()
        {
            int pause;
            lock (gate) pause = ++pauses;
            try
            {
                await options.Transport.DelayAsync(backoff.FullJitter(ShortestPause, LongestPause, failed++), ending.Token);
            }
            catch (OperationCanceledException)
            {
                return;
            }
            bool isLast;
            lock (gate) isLast = pause == pauses;
            if (isLast) Wake();
        }

        private async Task SendAllAsync()
        {
            if (!await client.RestoreAsync(ending.Token)) return;
            var all = await LoadedAsync(ending.Token);
            while (true)
            {
                ending.Token.ThrowIfCancellationRequested();
                Entry next;
                lock (gate) next = all.Find(IsOfPlayer);
                if (next == null) return;
                await SendAsync(next);
            }
        }

        /// <summary>Throws errors that may pass. This grant is then the next one to be sent.</summary>
        private async Task SendAsync(Entry entry)
        {
            try
            {
                var now = await ServiceTimeAsync();
                if (entry.TriedAt != null && now - entry.TriedAt > LongestWait)
                    throw new TierwayException(ErrorCodes.Timeout, "it has waited too long")
                    {
                        IsOutcomeUnknown = true,
                        IdempotencyKey = entry.Xp.Key,
                    };
                if (entry.TriedAt == null)
                    await ChangeAsync(all => entry.TriedAt = now, all => entry.TriedAt = null, ending.Token);
                var pass = entry.Pass;
                var result = pass == null
                    ? await CallAsync(entry)
                    : await pass.Session.DuringAsync(() => CallAsync(entry), ending.Token);
                options.Raise(Sent, new SentXp { Xp = entry.Xp, Result = result });
            }
            catch (TierwayException error)
            {
                if (error.Retryable || Array.IndexOf(WaitingCodes, error.Code) >= 0) throw;
                await RemoveAsync(entry);
                options.Raise(Refused, new RefusedXp { Xp = entry.Xp, Error = error });
            }
        }

        private async Task<XpResult> CallAsync(Entry entry)
        {
            var xp = entry.Xp;
            var body = new JsonWriter()
                .BeginObject()
                .Name("scenarioId")
                .Value(xp.ScenarioId)
                .Name("nodeId")
                .Value(xp.NodeId)
                .Name("runId")
                .Value(xp.RunId)
                .Name("amount")
                .Value(xp.Amount)
                .Name("source")
                .Value(xp.Source)
                .EndObject()
                .ToString();
            var call = new Call
            {
                Path = "/sdk/v1/battlepass/xp",
                Body = body,
                IsOfPlayer = true,
                IsChanging = true,
                Key = xp.Key,
                IsAnsweredByKey = true,
            };
            var answer = await client.Caller.OfPlayer(entry.PlayerId).MakeAsync(call, ending.Token);
            var result = Caller.Understood(() => XpResult.Read(answer));
            await RemoveAsync(entry);
            if (entry.Pass != null) entry.Pass.Take(result, xp.Amount, xp.Source, xp.Key);
            return result;
        }

        /// <summary>The clock of the device may be set at any time. It is used where answers have no date.</summary>
        private async Task<DateTimeOffset> ServiceTimeAsync()
        {
            var clock = client.Caller.Clock;
            if (clock.Now == null) await client.PlayerAsync(null, ending.Token);
            return clock.Now ?? DateTimeOffset.UtcNow;
        }

        private bool IsOfPlayer(Entry entry)
        {
            return entry.Xp != null && entry.PlayerId == client.PlayerId;
        }

        private Task RemoveAsync(Entry entry)
        {
            return ChangeAsync(
                all => all.Remove(entry),
                all =>
                {
                    if (!all.Contains(entry)) all.Insert(0, entry);
                },
                ending.Token);
        }

        /// <summary>Makes a change and stores it. What cannot be stored is taken back.</summary>
        private async Task ChangeAsync(
            Action<List<Entry>> change,
            Action<List<Entry>> takeBack,
            CancellationToken cancellationToken)
        {
            await storing.WaitAsync(cancellationToken);
            try
            {
                var all = await LoadCoreAsync(cancellationToken);
                string text;
                lock (gate)
                {
                    change(all);
                    text = TextOf(all);
                }
                try
                {
                    await options.Transport.WithinAsync(
                        StorageLimit,
                        async token =>
                        {
                            await storage.SaveAsync(text, token);
                            return true;
                        },
                        cancellationToken);
                }
                catch (Exception)
                {
                    lock (gate) takeBack(all);
                    throw;
                }
            }
            finally
            {
                storing.Release();
            }
        }

        private async Task<List<Entry>> LoadedAsync(CancellationToken cancellationToken)
        {
            await storing.WaitAsync(cancellationToken);
            try
            {
                return await LoadCoreAsync(cancellationToken);
            }
            finally
            {
                storing.Release();
            }
        }

        private async Task<List<Entry>> LoadCoreAsync(CancellationToken cancellationToken)
        {
            if (entries != null) return entries;
            var text = await options.Transport.WithinAsync(StorageLimit, storage.LoadAsync, cancellationToken);
            var found = new List<Entry>();
            JsonValue stored = null;
            if (!string.IsNullOrEmpty(text) && (!Json.TryParse(text, out stored) || stored.Kind != JsonKind.Array))
            {
                options.Raise(Unreadable, text);
                stored = null;
            }
            if (stored != null)
                foreach (var one in stored.Items)
                {
                    var entry = EntryOf(one);
                    found.Add(entry);
                    if (entry.Xp == null) options.Raise(Unreadable, entry.Text);
                }
            entries = found;
            return found;
        }

        private static Entry EntryOf(JsonValue stored)
        {
            try
            {
                var triedAt = stored.Member("triedAt");
                return new Entry
                {
                    Xp = new QueuedXp
                    {
                        Key = Caller.KeyOr(stored.Text("key")),
                        ScenarioId = stored.Text("scenarioId"),
                        NodeId = stored.Text("nodeId"),
                        RunId = stored.Text("runId"),
                        Amount = stored.Int64("amount"),
                        Source = stored.Text("source"),
                    },
                    PlayerId = stored.Text("playerId"),
                    TriedAt = triedAt.IsNull
                        ? (DateTimeOffset?)null
                        : DateTimeOffset.FromUnixTimeMilliseconds(triedAt.AsInt64()),
                };
            }
            catch (FormatException)
            {
                return new Entry { Text = stored.Raw };
            }
            catch (ArgumentException)
            {
                return new Entry { Text = stored.Raw };
            }
        }

        private static string TextOf(List<Entry> all)
        {
            var text = new JsonWriter().BeginArray();
            foreach (var entry in all)
            {
                if (entry.Xp == null)
                {
                    text.Raw(entry.Text);
                    continue;
                }
                text.BeginObject()
                    .Name("key")
                    .Value(entry.Xp.Key)
                    .Name("scenarioId")
                    .Value(entry.Xp.ScenarioId)
                    .Name("nodeId")
                    .Value(entry.Xp.NodeId)
                    .Name("runId")
                    .Value(entry.Xp.RunId)
                    .Name("amount")
                    .Value(entry.Xp.Amount)
                    .Name("source")
                    .Value(entry.Xp.Source)
                    .Name("playerId")
                    .Value(entry.PlayerId)
                    .Name("triedAt");
                if (entry.TriedAt == null) text.Raw("null");
                else text.Value(entry.TriedAt.Value.ToUnixTimeMilliseconds());
                text.EndObject();
            }
            return text.EndArray().ToString();
        }
    }
}
