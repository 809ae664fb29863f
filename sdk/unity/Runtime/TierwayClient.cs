using System;
using System.Collections.Generic;
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
        private readonly Device device;

        public TierwayClient(TierwayOptions options)
        {
            if (options == null) throw new ArgumentNullException("options");
            this.options = options.Checked();
            caller = new Caller(this.options, reason => this.options.Raise(SignedOut, reason), lifetime.Token);
            device = new Device(this.options.DeviceStorage);
            Storage = new PlayerStorage(caller);
            Account = new Account(caller);
            Inbox = new Inbox(caller);
        }

        /// <summary>A player has logged in. Raised with its id, after the token storage has been updated.</summary>
        public event Action<string> SignedIn;

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

        /// <summary>
        /// The id of the logged-in player; null for nobody. A login of an earlier run of the game counts as for
        /// <see cref="IsSignedIn"/>.
        /// </summary>
        public string PlayerId
        {
            get { return caller.Tokens.PlayerId; }
        }

        internal Caller Caller
        {
            get { return caller; }
        }

        /// <summary>A copy of what the game has given, with defaults.</summary>
        internal TierwayOptions Options
        {
            get { return options; }
        }

        /// <summary>The player's own storage.</summary>
        public PlayerStorage Storage { get; private set; }

        /// <summary>The player's account: profile, identities, sessions and data.</summary>
        public Account Account { get; private set; }

        /// <summary>The player's inbox: messages, and what is given with them.</summary>
        public Inbox Inbox { get; private set; }

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
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (request == null) throw new ArgumentNullException("request");
            var body = Begin(request);
            AddProfile(body, request.Nickname, request.Region, request.Language, request.DeviceName);
            await SignInAsync("custom", body, null, callOptions, cancellationToken);
        }

        /// <summary>Attaches another identity to the logged-in player.</summary>
        public async Task LinkAsync(
            LinkRequest request,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (request == null) throw new ArgumentNullException("request");
            await AttachAsync("custom", Begin(request), null, callOptions, cancellationToken);
        }

        /// <summary>Logs a player in by an ID token of Google.</summary>
        public Task LoginGoogleAsync(
            IdTokenRequest request,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return SignInAsync("google", request, callOptions, cancellationToken);
        }

        /// <summary>Attaches the player's account at Google.</summary>
        public Task LinkGoogleAsync(
            IdTokenRequest request,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return AttachAsync("google", request, callOptions, cancellationToken);
        }

        /// <summary>Logs a player in by an ID token of Apple.</summary>
        public Task LoginAppleAsync(
            IdTokenRequest request,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return SignInAsync("apple", request, callOptions, cancellationToken);
        }

        /// <summary>Attaches the player's account at Apple.</summary>
        public Task LinkAppleAsync(
            IdTokenRequest request,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return AttachAsync("apple", request, callOptions, cancellationToken);
        }

        /// <summary>Logs a player in by an ID token of the issuer that the request names.</summary>
        public Task LoginOidcAsync(
            IdTokenRequest request,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return SignInAsync("oidc", request, callOptions, cancellationToken);
        }

        /// <summary>Attaches the player's account at the issuer that the request names.</summary>
        public Task LinkOidcAsync(
            IdTokenRequest request,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            return AttachAsync("oidc", request, callOptions, cancellationToken);
        }

        /// <summary>
        /// Logs a guest in. The first call makes an id for this device and keeps it in the storage of the options; later
        /// ones, after a logout, too, log the same player in.
        /// </summary>
        public async Task LoginGuestAsync(
            GuestRequest request = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            request = request ?? new GuestRequest();
            var body = await BeginGuestAsync(request, cancellationToken);
            AddProfile(body, request.Nickname, request.Region, request.Language, request.DeviceName);
            await SignInAsync("device", body, null, callOptions, cancellationToken);
        }

        /// <summary>Attaches this device to the player, who can then log in as its guest.</summary>
        public async Task LinkGuestAsync(
            GuestRequest request = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var body = await BeginGuestAsync(request ?? new GuestRequest(), cancellationToken);
            await AttachAsync("device", body, null, callOptions, cancellationToken);
        }

        /// <summary>
        /// Signs in to the player that has the identity of a refused link, with the ticket in
        /// <see cref="TierwayException.Facts"/>, which is there where the environment gives tickets. The former player is
        /// logged out, as by a login.
        /// </summary>
        /// <param name="ticket">The member <c>ticket</c> of <c>conflict</c>. It works once, within ten minutes.</param>
        /// <param name="deviceName">The player finds it in its sessions; null for none.</param>
        /// <param name="callOptions">Limits of this call alone.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        public async Task SwitchAsync(
            string ticket,
            string deviceName = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (string.IsNullOrEmpty(ticket)) throw new ArgumentException("a ticket must be set", "ticket");
            var body = new JsonWriter().BeginObject().Name("ticket").Value(ticket);
            AddProfile(body, null, null, null, deviceName);
            var call = new Call
            {
                Path = "/sdk/v1/authorization/switch",
                Body = body.EndObject().ToString(),
                IsOfClient = true,
                IsOfPlayer = true,
                IsChanging = true,
                Timeout = options.LoginTimeout,
                RetryWindow = TimeSpan.Zero,
                Options = callOptions,
            };
            await TakeAsync(await caller.MakeAsync(call, cancellationToken));
        }

        private Task SignInAsync(
            string kind,
            IdTokenRequest request,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            var body = Begin(kind, request);
            AddProfile(body, request.Nickname, request.Region, request.Language, request.DeviceName);
            return SignInAsync(kind, body, WindowOf(request), callOptions, cancellationToken);
        }

        private Task AttachAsync(
            string kind,
            IdTokenRequest request,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            return AttachAsync(kind, Begin(kind, request), WindowOf(request), callOptions, cancellationToken);
        }

        private async Task SignInAsync(
            string kind,
            JsonWriter body,
            TimeSpan? retryWindow,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            var call = new Call
            {
                Path = "/sdk/v1/authorization/" + kind,
                Body = body.EndObject().ToString(),
                IsOfClient = true,
                Timeout = options.LoginTimeout,
                RetryWindow = retryWindow,
                Options = callOptions,
            };
            await TakeAsync(await caller.MakeAsync(call, cancellationToken));
        }

        private async Task TakeAsync(JsonValue pair)
        {
            var former = await caller.Tokens.SetAsync(Caller.PairOf(pair));
            if (former != null) EndUnobserved(former);
            options.Raise(SignedIn, PlayerId);
        }

        private async Task AttachAsync(
            string kind,
            JsonWriter body,
            TimeSpan? retryWindow,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            var call = new Call
            {
                Path = "/sdk/v1/authorization/" + kind + "/link",
                Body = body.EndObject().ToString(),
                IsOfClient = true,
                IsOfPlayer = true,
                IsChanging = true,
                Timeout = options.LoginTimeout,
                RetryWindow = retryWindow,
                Options = callOptions,
            };
            await caller.MakeAsync(call, cancellationToken);
        }

        /// <summary>
        /// Logs out. On this device this takes effect at once. The service is informed if possible; it is not an error
        /// when this fails.
        /// </summary>
        public async Task LogoutAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var pair = await caller.Tokens.ForgetAsync();
            if (pair != null) await EndAsync(pair, callOptions, cancellationToken);
        }

        private async Task EndAsync(TokenPair pair, CallOptions callOptions, CancellationToken cancellationToken)
        {
            var request = new JsonWriter().BeginObject().Name("refreshToken").Value(pair.RefreshToken).EndObject();
            var call = new Call
            {
                Path = "/sdk/v1/authorization/logout",
                Body = request.ToString(),
                IsOfClient = true,
                Options = callOptions,
            };
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
                await EndAsync(pair, null, CancellationToken.None);
            }
            catch (Exception error)
            {
                // The client was disposed of.
                if (!lifetime.IsCancellationRequested) options.Report(error);
            }
        }

        /// <summary>The logged-in player, with wallet, inventory and identities.</summary>
        public async Task<Player> PlayerAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var body = await caller.PostAsync("/sdk/v1/player/get", "{}", callOptions, cancellationToken);
            return Caller.Understood(() => Player.Read(body));
        }

        /// <summary>
        /// The player's seasons, the last started first: one for each battle pass that it has begun, also those that
        /// are over.
        /// </summary>
        public async Task<IReadOnlyList<SeasonProgress>> SeasonsAsync(
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var body = await caller.PostAsync("/sdk/v1/seasons/list", "{}", callOptions, cancellationToken);
            return Caller.Understood(() => body.List("seasons", SeasonProgress.Read));
        }

        /// <summary>
        /// What a game draws of a scenario: its passes with texts and pictures, and where the player stands.
        /// </summary>
        /// <param name="scenarioId">The scenario. It need not be started.</param>
        /// <param name="language">The language of texts, such as pt-BR. Default: that of the player's profile.</param>
        /// <param name="callOptions">Limits of this call alone.</param>
        /// <param name="cancellationToken">Ends the call.</param>
        public async Task<ScenarioView> ViewAsync(
            string scenarioId,
            string language = null,
            CallOptions callOptions = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            var request = new JsonWriter().BeginObject().Name("scenarioId").Value(scenarioId);
            if (language != null) request.Name("language").Value(language);
            var input = request.EndObject().ToString();
            var body = await caller.PostAsync("/sdk/v1/scenarios/view", input, callOptions, cancellationToken);
            return Caller.Understood(() => ScenarioView.Read(body));
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
        /// <param name="filter">Which events; null for all.</param>
        /// <param name="cancellationToken">Ends the listening.</param>
        public Task EventsAsync(
            Action<TierwayEvent> onEvent,
            string after = null,
            EventFilter filter = null,
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
                filter,
                cancellationToken);
        }

        /// <summary>The same, with a handler that is awaited before the next event.</summary>
        public async Task EventsAsync(
            Func<TierwayEvent, Task> onEvent,
            string after = null,
            EventFilter filter = null,
            CancellationToken cancellationToken = default(CancellationToken))
        {
            if (onEvent == null) throw new ArgumentNullException("onEvent");
            if (lifetime.IsCancellationRequested) throw new ObjectDisposedException("TierwayClient");
            using (var both = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, lifetime.Token))
            {
                await new EventStream(options, caller, onEvent, after, filter).ListenAsync(both.Token);
            }
        }

        /// <summary>Ends every call and stream in progress. The login stays in the storage.</summary>
        public void Dispose()
        {
            if (lifetime.IsCancellationRequested) return;
            lifetime.Cancel();
            options.Transport.Dispose();
        }

        /// <summary>A nonce works once: after a lost answer, another attempt would be refused.</summary>
        private static TimeSpan? WindowOf(IdTokenRequest request)
        {
            return request.Nonce == null ? (TimeSpan?)null : TimeSpan.Zero;
        }

        private static void AddProfile(
            JsonWriter body,
            string nickname,
            string region,
            string language,
            string deviceName)
        {
            if (nickname != null) body.Name("nickname").Value(nickname);
            if (region != null) body.Name("region").Value(region);
            if (language != null) body.Name("language").Value(language);
            if (deviceName != null) body.Name("deviceName").Value(deviceName);
        }

        private static JsonWriter Begin(string kind, IdTokenRequest request)
        {
            if (request == null) throw new ArgumentNullException("request");
            if (string.IsNullOrEmpty(request.IdToken)) throw new ArgumentException("IdToken must be set", "request");
            var body = new JsonWriter().BeginObject().Name("idToken").Value(request.IdToken);
            if (request.Nonce != null) body.Name("nonce").Value(request.Nonce);
            if (kind != "oidc") return body;
            if (string.IsNullOrEmpty(request.Provider)) throw new ArgumentException("Provider must be set", "request");
            return body.Name("provider").Value(request.Provider);
        }

        private async Task<JsonWriter> BeginGuestAsync(GuestRequest request, CancellationToken cancellationToken)
        {
            var deviceId = request.DeviceId ?? await device.IdAsync(cancellationToken);
            return new JsonWriter().BeginObject().Name("deviceId").Value(deviceId);
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
