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
        /// <summary>It limits the time for which xp waits when the network is back, since no event reports that.</summary>
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
            /// <summary>The stored text of an entry that cannot be read.</summary>
            public string Text;
        }

        private readonly TierwayClient client;
        private readonly TierwayOptions options;
        private readonly ITextStorage storage;
        /// <summary>A call that is under way goes on until the client ends.</summary>
        private readonly CancellationToken lifetime;
        private readonly CancellationTokenSource ending = new CancellationTokenSource();
        private readonly Turns storing = new Turns();
        private readonly Backoff backoff = new Backoff();
        private readonly object gate = new object();
        /// <summary>Sessions of this run of the game, by run. They take in the answers.</summary>
        private readonly Dictionary<string, ScenarioSession> sessions = new Dictionary<string, ScenarioSession>();
        /// <summary>
        /// What is stored, in the order in which it was earned; null before it is loaded. A change makes another list.
        /// </summary>
        private List<Entry> entries;
        /// <summary>The last write of the storage. The next one waits for it, also when its caller has given up.</summary>
        private Task saving = Task.FromResult(true);
        private TaskCompletionSource<bool> sending;
        /// <summary>Xp was stored, or a player has logged in, since sending began.</summary>
        private bool isAsked;
        private int failed;
        /// <summary>The number of the last pause before an attempt. A pause with a lower one has no effect.</summary>
        private int pauses;

        /// <summary>
        /// Begins to send the stored xp of the logged-in player. In Unity, handlers that are added at once miss nothing;
        /// without a SynchronizationContext, sending may be faster.
        /// </summary>
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
            lifetime = client.Caller.Lifetime;
            client.SignedIn += OnSignedIn;
            Wake();
        }

        /// <summary>Xp was added.</summary>
        public event Action<SentXp> Sent;

        /// <summary>Xp cannot be added. It is removed from the storage.</summary>
        public event Action<RefusedXp> Refused;

        /// <summary>
        /// The storage has this text in the place of xp. It stays there, and other xp is sent.
        /// </summary>
        public event Action<string> Unreadable;

        /// <summary>
        /// Stores xp, and sends it as soon as possible. Completes when it is stored. It throws what the storage throws, and
        /// <see cref="TimeoutException"/> for a storage that does not answer: then the xp does not count.
        /// </summary>
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
            lock (gate) sessions[xp.RunId] = pass.Session;
            await ChangeAsync(all => all.Add(new Entry { Xp = xp, PlayerId = playerId }), cancellationToken);
            Wake();
            return xp;
        }

        /// <summary>The number of stored grants of the logged-in player.</summary>
        public async Task<int> CountAsync(CancellationToken cancellationToken = default(CancellationToken))
        {
            await client.RestoreAsync(cancellationToken);
            await LoadedAsync(cancellationToken);
            lock (gate) return entries.FindAll(IsOfPlayer).Count;
        }

        /// <summary>
        /// Sends everything that is stored. Completes when all is sent or refused. It throws when sending is not possible
        /// now, also for failures of the storage; it continues later.
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

        /// <summary>Stops sending, after the call that is under way. Stored xp stays stored.</summary>
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
            if (IsOver) return;
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
                if (IsOver) return;
                if (!(error is TierwayException)) options.Report(error);
                WakeLater();
            }
        }

        /// <summary>Whether sending begins again. If not, the next one who asks begins it.</summary>
        private bool IsAskedAgain()
        {
            lock (gate)
            {
                if (isAsked && !IsOver) return true;
                sending = null;
                failed = 0;
                return false;
            }
        }

        private async void WakeLater()
        {
            int pause;
            TimeSpan wait;
            lock (gate)
            {
                pause = ++pauses;
                wait = backoff.FullJitter(ShortestPause, LongestPause, failed++);
            }
            using (var both = CancellationTokenSource.CreateLinkedTokenSource(ending.Token, lifetime))
            {
                try
                {
                    await options.Transport.DelayAsync(wait, both.Token);
                }
                catch (Exception error)
                {
                    if (!IsOver) options.Report(error);
                    return;
                }
            }
            bool isLast;
            lock (gate) isLast = pause == pauses;
            if (isLast) Wake();
        }

        private bool IsOver
        {
            get { return ending.IsCancellationRequested || lifetime.IsCancellationRequested; }
        }

        private async Task SendAllAsync()
        {
            if (!await client.RestoreAsync(lifetime))
            {
                // A login that could not be read is tried again.
                if (!client.Caller.Tokens.IsLoaded) throw Tokens.NotSignedIn();
                return;
            }
            await LoadedAsync(lifetime);
            while (!IsOver)
            {
                Entry next;
                lock (gate) next = entries.Find(IsOfPlayer);
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
                {
                    var untried = entry;
                    entry = new Entry { Xp = entry.Xp, PlayerId = entry.PlayerId, TriedAt = now };
                    await ChangeAsync(all => all[all.IndexOf(untried)] = entry, lifetime);
                }
                ScenarioSession session;
                lock (gate) sessions.TryGetValue(entry.Xp.RunId, out session);
                var result = session == null
                    ? await CallAsync(entry, null)
                    : await session.DuringAsync(() => CallAsync(entry, session), lifetime);
                options.Raise(Sent, new SentXp { Xp = entry.Xp, Result = result });
            }
            catch (TierwayException error)
            {
                if (error.Retryable || Array.IndexOf(WaitingCodes, error.Code) >= 0) throw;
                await RemoveAsync(entry);
                options.Raise(Refused, new RefusedXp { Xp = entry.Xp, Error = error });
            }
        }

        private async Task<XpResult> CallAsync(Entry entry, ScenarioSession session)
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
            var result = await client.Caller.OfPlayer(entry.PlayerId).MakeAsync(call, XpResult.Read, lifetime);
            await RemoveAsync(entry);
            if (session != null) session.BattlePass(xp.NodeId).Take(result, xp.Amount, xp.Source, xp.Key);
            return result;
        }

        /// <summary>The clock of the device may be set at any time. It is used where answers have no date.</summary>
        private async Task<DateTimeOffset> ServiceTimeAsync()
        {
            var clock = client.Caller.Clock;
            if (clock.Now == null) await client.PlayerAsync(null, lifetime);
            return clock.Now ?? DateTimeOffset.UtcNow;
        }

        private bool IsOfPlayer(Entry entry)
        {
            return entry.Xp != null && entry.PlayerId == client.PlayerId;
        }

        private Task RemoveAsync(Entry entry)
        {
            return ChangeAsync(all => all.Remove(entry), lifetime);
        }

        /// <summary>Stores a change. It takes effect once it is stored.</summary>
        private async Task ChangeAsync(Action<List<Entry>> change, CancellationToken cancellationToken)
        {
            await storing.WaitAsync(cancellationToken);
            try
            {
                await LoadCoreAsync(cancellationToken);
                var changed = new List<Entry>(entries);
                change(changed);
                var save = SaveAsync(saving, TextOf(changed));
                saving = save;
                try
                {
                    await options.Transport.WithinAsync(StorageLimit, token => save, cancellationToken);
                }
                catch (Exception)
                {
                    // It may still be written, which nobody waits for: what holds is written behind it.
                    if (!save.IsCompleted) saving = RestoreAsync(save, TextOf(entries));
                    throw;
                }
                lock (gate) entries = changed;
            }
            finally
            {
                storing.Release();
            }
        }

        /// <summary>Writes the storage once the write before has ended.</summary>
        private async Task<bool> SaveAsync(Task before, string text)
        {
            try
            {
                await before;
            }
            catch (Exception)
            {
                // Its own caller has that failure.
            }
            await storage.SaveAsync(text, lifetime);
            return true;
        }

        private async Task<bool> RestoreAsync(Task before, string text)
        {
            try
            {
                return await SaveAsync(before, text);
            }
            catch (Exception error)
            {
                options.Report(error);
                return false;
            }
        }

        private async Task LoadedAsync(CancellationToken cancellationToken)
        {
            await storing.WaitAsync(cancellationToken);
            try
            {
                await LoadCoreAsync(cancellationToken);
            }
            finally
            {
                storing.Release();
            }
        }

        /// <summary>Within a turn of the storage.</summary>
        private async Task LoadCoreAsync(CancellationToken cancellationToken)
        {
            if (entries != null) return;
            var text = await options.Transport.WithinAsync(StorageLimit, storage.LoadAsync, cancellationToken);
            var found = new List<Entry>();
            JsonValue stored;
            if (Json.TryParse(text ?? "[]", out stored) && stored.Kind == JsonKind.Array)
                foreach (var one in stored.Items)
                {
                    var entry = EntryOf(one);
                    found.Add(entry);
                    if (entry.Xp == null) options.Raise(Unreadable, entry.Text);
                }
            else if (text.Length > 0)
            {
                // Something else is kept as a text in the list.
                found.Add(new Entry { Text = Json.Quote(text) });
                options.Raise(Unreadable, text);
            }
            lock (gate) entries = found;
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
