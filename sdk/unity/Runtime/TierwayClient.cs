using System;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>
    /// The client of a player. It keeps the login, retries calls, and reports the outcome of each. Nothing is static:
    /// there may be several clients. Events are raised in the caller's context: in Unity on the main thread.
    /// </summary>
    public sealed class TierwayClient : IDisposable
    {
        private readonly TierwayOptions options;
        private readonly CancellationTokenSource lifetime = new CancellationTokenSource();
        private readonly Caller caller;

        public TierwayClient(TierwayOptions options)
        {
            if (options == null) throw new ArgumentNullException("options");
            this.options = options.Checked();
            caller = new Caller(this.options, reason => this.options.Raise(SignedOut, reason), lifetime.Token);
            Storage = new PlayerStorage(caller);
        }

        /// <summary>The login has ended. Raised after the token storage has been updated.</summary>
        public event Action<SignedOutReason> SignedOut;

        /// <summary>
        /// Whether a player is logged in, as far as this device knows. A login of an earlier run of the game counts
        /// once <see cref="RestoreAsync"/> or the first call has loaded it.
        /// </summary>
        public bool IsSignedIn
        {
            get { return caller.Tokens.IsSignedIn; }
        }

        /// <summary>The player's own storage.</summary>
        public PlayerStorage Storage { get; private set; }

        /// <summary>
        /// Loads the login from the token storage. Returns whether there is one. It makes no call.
        /// </summary>
        public async Task<bool> RestoreAsync(CancellationToken cancellationToken = default(CancellationToken))
        {
            await caller.Tokens.LoadAsync(cancellationToken);
            return IsSignedIn;
        }

        /// <summary>Logs a player in, whom the studio's own backend identifies.</summary>
        public async Task LoginAsync(
            LoginRequest request,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (request == null) throw new ArgumentNullException("request");
            var body = Begin(request);
            if (request.Nickname != null) body.Name("nickname").Value(request.Nickname);
            if (request.Region != null) body.Name("region").Value(request.Region);
            if (request.Language != null) body.Name("language").Value(request.Language);
            var call = new Call
            {
                Path = "/sdk/v1/authorization/custom",
                Body = body.EndObject().ToString(),
                IsOfClient = true,
                Timeout = options.LoginTimeout,
            };
            var answer = await caller.MakeAsync(call, cancellationToken);
            var former = await caller.Tokens.SetAsync(Caller.PairOf(answer));
            if (former != null) EndUnobserved(former);
        }

        /// <summary>Attaches another identity to the logged-in player.</summary>
        public async Task LinkAsync(
            LinkRequest request,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (request == null) throw new ArgumentNullException("request");
            var call = new Call
            {
                Path = "/sdk/v1/authorization/custom/link",
                Body = Begin(request).EndObject().ToString(),
                IsOfClient = true,
                IsOfPlayer = true,
                IsChanging = true,
                Timeout = options.LoginTimeout,
            };
            await caller.MakeAsync(call, cancellationToken);
        }

        /// <summary>
        /// Logs out. On this device this takes effect at once. The service is informed if possible; it is not an error
        /// when this fails.
        /// </summary>
        public async Task LogoutAsync(CancellationToken cancellationToken = default(CancellationToken))
        {
            var pair = await caller.Tokens.ForgetAsync();
            if (pair != null) await EndAsync(pair, cancellationToken);
        }

        private async Task EndAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            var request = new JsonWriter().BeginObject().Name("refreshToken").Value(pair.RefreshToken).EndObject();
            var call = new Call { Path = "/sdk/v1/authorization/logout", Body = request.ToString(), IsOfClient = true };
            try
            {
                await caller.MakeAsync(call, cancellationToken);
            }
            catch (TierwayException)
            {
                // The login stays valid until it expires, but its tokens are forgotten.
            }
        }

        /// <summary>The login of the next player does not wait for the end of this one.</summary>
        private async void EndUnobserved(TokenPair pair)
        {
            try
            {
                await EndAsync(pair, CancellationToken.None);
            }
            catch (Exception error)
            {
                // The client was disposed of.
                if (!lifetime.IsCancellationRequested) options.Report(error);
            }
        }

        /// <summary>The logged-in player, with wallet, inventory and identities.</summary>
        public async Task<Player> PlayerAsync(CancellationToken cancellationToken = default(CancellationToken))
        {
            var body = await caller.PostAsync("/sdk/v1/player/get", "{}", cancellationToken);
            return Caller.Understood(() => Player.Read(body));
        }

        /// <summary>A scenario, by its id. It makes no call before it is started.</summary>
        public Scenario Scenario(string scenarioId)
        {
            if (string.IsNullOrEmpty(scenarioId)) throw new ArgumentException("a scenario needs an id", "scenarioId");
            return new Scenario(options, caller, scenarioId);
        }

        /// <summary>
        /// Delivers the player's events, each once and in order, until it is cancelled. After a lost connection it
        /// continues after the last event. An event counts as delivered when the handler has returned; an exception of
        /// the handler ends the listening.
        /// </summary>
        /// <param name="onEvent">Called with one event after the other.</param>
        /// <param name="after">The cursor of the last known event; null for events from now on.</param>
        /// <param name="cancellationToken">Ends the listening.</param>
        public Task EventsAsync(
            Action<TierwayEvent> onEvent,
            string after = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (onEvent == null) throw new ArgumentNullException("onEvent");
            return EventsAsync(
                happened =>
                {
                    onEvent(happened);
                    return Task.FromResult(true);
                },
                after,
                cancellationToken);
        }

        /// <summary>The same, with a handler that is awaited before the next event.</summary>
        public async Task EventsAsync(
            Func<TierwayEvent, Task> onEvent,
            string after = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (onEvent == null) throw new ArgumentNullException("onEvent");
            if (lifetime.IsCancellationRequested) throw new ObjectDisposedException("TierwayClient");
            using (var both = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, lifetime.Token))
            {
                await new EventStream(options, caller, onEvent, after).ListenAsync(both.Token);
            }
        }

        /// <summary>Ends every call and stream in progress. The login stays in the storage.</summary>
        public void Dispose()
        {
            if (lifetime.IsCancellationRequested) return;
            lifetime.Cancel();
            options.Transport.Dispose();
        }

        private static JsonWriter Begin(LinkRequest request)
        {
            var customData = request.CustomData;
            if (customData == null || customData.Kind != JsonKind.Object)
                throw new ArgumentException("CustomData must be a JSON object", "request");
            var body = new JsonWriter().BeginObject().Name("customData").Value(customData);
            return request.Provider == null ? body : body.Name("provider").Value(request.Provider);
        }
    }
}
