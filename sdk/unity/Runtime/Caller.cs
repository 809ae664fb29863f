using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>A call, with all its attempts.</summary>
    internal sealed class Call
    {
        public string Path { get; set; }

        public string Body { get; set; }

        /// <summary>Whether it sends the SDK key.</summary>
        public bool IsOfClient { get; set; }

        /// <summary>Whether it sends the access token.</summary>
        public bool IsOfPlayer { get; set; }

        /// <summary>Whether the answer is a GraphQL result.</summary>
        public bool IsGraphql { get; set; }

        /// <summary>Whether the answer is lines of JSON, which are returned as an array.</summary>
        public bool IsOfLines { get; set; }

        /// <summary>Whether it changes something.</summary>
        public bool IsChanging { get; set; }

        /// <summary>The key that every attempt carries; null for none.</summary>
        public string Key { get; set; }

        /// <summary>
        /// Whether the service repeats the answer of a known key, so that a retry reveals the outcome.
        /// </summary>
        public bool IsAnsweredByKey { get; set; }

        public TimeSpan Timeout { get; set; }

        /// <summary>Limits that the game has given for this call; null for none.</summary>
        public CallOptions Options { get; set; }

        /// <summary>The longest time from the first attempt to the start of the last one; null for no limit.</summary>
        public TimeSpan? RetryWindow { get; set; }
    }

    /// <summary>Makes calls: with tokens, time limits and retries.</summary>
    internal sealed class Caller
    {
        private static readonly TimeSpan ShortestWait = TimeSpan.FromMilliseconds(200);
        private static readonly TimeSpan LongestWait = TimeSpan.FromSeconds(5);
        private static readonly TimeSpan LongestRetryAfter = TimeSpan.FromSeconds(60);
        /// <summary>
        /// A used refresh token gets the same pair for ten seconds: a lost answer must be requested again within them.
        /// </summary>
        private static readonly TimeSpan RefreshTimeout = TimeSpan.FromSeconds(4);
        private static readonly TimeSpan RefreshWindow = TimeSpan.FromSeconds(8);
        private static readonly UTF8Encoding Utf8 = new UTF8Encoding(false, true);

        private readonly TierwayOptions options;
        private readonly CancellationToken lifetime;
        private readonly Backoff backoff = new Backoff();
        /// <summary>The player for whom alone calls are made; null for all.</summary>
        private readonly Owner owner;

        public Caller(TierwayOptions options, Action<SignedOutReason> signedOut, CancellationToken lifetime)
        {
            this.options = options;
            this.lifetime = lifetime;
            Tokens = new Tokens(options, ExchangeAsync, signedOut, lifetime);
            Clock = new ServiceClock();
        }

        private Caller(Caller other, Owner owner)
        {
            options = other.options;
            lifetime = other.lifetime;
            Tokens = other.Tokens;
            Clock = other.Clock;
            this.owner = owner;
        }

        public Tokens Tokens { get; private set; }

        public ServiceClock Clock { get; private set; }

        /// <summary>Ends with the client.</summary>
        public CancellationToken Lifetime
        {
            get { return lifetime; }
        }

        /// <summary>
        /// The same calls for one player only: the one who is logged in, or else logs in before the first of them.
        /// </summary>
        public Caller OfPlayer()
        {
            return OfPlayer(Tokens.PlayerId);
        }

        /// <summary>The same for this player; null for the next one who logs in.</summary>
        public Caller OfPlayer(string playerId)
        {
            return new Caller(this, new Owner(playerId));
        }

        /// <summary>Whether calls are made for this player.</summary>
        public bool IsFor(string playerId)
        {
            return owner == null || owner.IsFor(playerId);
        }

        /// <summary>
        /// The pair to call with. It throws when it is not of the player of the first pair, which may be null, or of the
        /// one for whom alone calls are made.
        /// </summary>
        public async Task<HeldPair> HeldAsync(HeldPair first, CancellationToken cancellationToken)
        {
            var held = await Tokens.GetAsync(cancellationToken);
            if (first != null && !held.IsOfPlayerOf(first)) throw Tokens.NotSignedIn();
            if (owner != null && !owner.Takes(held.PlayerId)) throw Tokens.NotSignedIn();
            return held;
        }

        /// <summary>The given key, or a random one.</summary>
        public static string KeyOr(string given)
        {
            if (given == null) return Guid.NewGuid().ToString();
            var isSendable = given.Length >= 1 && given.Length <= 255;
            foreach (var one in given) isSendable &= one >= ' ' && one < '\x7f';
            if (!isSendable || given.Trim(' ') != given)
                throw new ArgumentException(
                    "an idempotency key has 1 to 255 printable ASCII characters, without a space at the ends",
                    "idempotencyKey");
            return given;
        }

        /// <summary>
        /// A call of the player without a key: it reads, or is idempotent.
        /// </summary>
        public async Task<JsonValue> PostAsync(
            string path,
            string body,
            CallOptions callOptions,
            CancellationToken cancellationToken)
        {
            var call = new Call { Path = path, Body = body, IsOfPlayer = true, Options = callOptions };
            return await MakeAsync(call, cancellationToken);
        }

        /// <summary>
        /// Makes a call and returns its answer; null for an empty one. Every failure except a cancellation is a
        /// <see cref="TierwayException"/>.
        /// </summary>
        public async Task<JsonValue> MakeAsync(Call call, CancellationToken cancellationToken)
        {
            if (lifetime.IsCancellationRequested) throw new ObjectDisposedException("TierwayClient");
            if (call.Options != null) call.Options.Check();
            if (call.Options != null && call.Options.Timeout != null) call.Timeout = call.Options.Timeout.Value;
            if (call.Timeout == TimeSpan.Zero) call.Timeout = options.Timeout;
            using (var both = CancellationTokenSource.CreateLinkedTokenSource(cancellationToken, lifetime))
            {
                return await RetryAsync(call, both.Token);
            }
        }

        /// <summary>Makes a call and reads its answer. A change whose answer cannot be read may have taken effect.</summary>
        public async Task<T> MakeAsync<T>(Call call, Func<JsonValue, T> read, CancellationToken cancellationToken)
        {
            var answer = await MakeAsync(call, cancellationToken);
            try
            {
                return Understood(() => read(answer));
            }
            catch (TierwayException error)
            {
                error.IsOutcomeUnknown = call.IsChanging;
                error.IdempotencyKey = call.Key;
                throw;
            }
        }

        /// <summary>Opens the stream of a subscription.</summary>
        public async Task<ITransportStream> OpenAsync(string body, TokenPair pair, CancellationToken cancellationToken)
        {
            var call = new Call { Path = "/graphql", Body = body, IsOfPlayer = true, IsGraphql = true };
            var request = RequestOf(call, pair, "text/event-stream");
            try
            {
                var stream = await options.Transport.WithinAsync(
                    options.Timeout,
                    token => options.Transport.OpenAsync(request, token),
                    cancellationToken);
                if (stream.Status == 200) return stream;
                using (stream)
                {
                    var status = stream.Status;
                    var told = await options.Transport.WithinAsync(
                        options.Timeout,
                        token => ReadAllAsync(stream, token),
                        cancellationToken);
                    throw Refusal(call, new TransportResponse(status, told, stream.Header));
                }
            }
            catch (TimeoutException error)
            {
                throw Unanswered(ErrorCodes.Timeout, error);
            }
            catch (TransportException error)
            {
                throw Unanswered(ErrorCodes.Network, error);
            }
        }

        /// <summary>The first error of a GraphQL answer; null when there is none.</summary>
        public static TierwayException GraphqlError(JsonValue answer, string requestId)
        {
            return Understood(() => FirstError(answer, requestId));
        }

        private static TierwayException FirstError(JsonValue answer, string requestId)
        {
            var errors = answer["errors"];
            if (errors == null || errors.Kind != JsonKind.Array || errors.Items.Count == 0) return null;
            var first = errors.Items[0];
            var extensions = first["extensions"];
            var isCoded = extensions != null && extensions.Kind == JsonKind.Object;
            var code = (isCoded ? extensions.TextOrNull("code") : null) ?? ErrorCodes.InvalidResponse;
            code = code.ToLowerInvariant();
            var status = StatusOf(code);
            return new TierwayException(code, first.TextOrNull("message") ?? code)
            {
                Status = status,
                Details = isCoded ? DetailsOf(extensions) : new ErrorDetail[0],
                Facts = isCoded ? FactsOf(extensions) : null,
                RequestId = (isCoded ? extensions.TextOrNull("requestId") : null) ?? requestId,
                Retryable = IsPassing(status, code),
            };
        }

        private async Task<JsonValue> RetryAsync(Call call, CancellationToken cancellationToken)
        {
            var watch = System.Diagnostics.Stopwatch.StartNew();
            var mayBeDone = false;
            var isRenewed = false;
            HeldPair first = null;
            var maxRetries = (call.Options == null ? null : call.Options.MaxRetries) ?? options.MaxRetries;
            for (var retries = 0; ; )
            {
                TierwayException error;
                TokenPair pair = null;
                try
                {
                    if (call.IsOfPlayer)
                    {
                        var held = await HeldAsync(first, cancellationToken);
                        first = first ?? held;
                        pair = held.Pair;
                    }
                    var body = await AttemptAsync(call, pair, cancellationToken);
                    return body;
                }
                catch (TierwayException failed)
                {
                    error = failed;
                }
                if (error.IsOutcomeUnknown) mayBeDone = true;
                var isTokenRefused = error.Status == 401 && error.Code == ErrorCodes.InvalidToken;
                if (isTokenRefused && pair != null && !isRenewed)
                {
                    isRenewed = true;
                    try
                    {
                        await Tokens.RenewAsync(pair, cancellationToken);
                        continue;
                    }
                    catch (TierwayException failed)
                    {
                        throw Final(failed, call, mayBeDone);
                    }
                }
                var wait = backoff.FullJitter(ShortestWait, LongestWait, retries);
                if (error.RetryAfter > wait)
                    wait = error.RetryAfter.Value + backoff.FullJitter(ShortestWait, ShortestWait, 0);
                var isOver =
                    // Without a pair, the refresh failed, which has had its own retries.
                    (call.IsOfPlayer && pair == null)
                    || !IsRetried(error)
                    || retries == maxRetries
                    || error.RetryAfter > LongestRetryAfter
                    || (call.RetryWindow != null && watch.Elapsed + wait > call.RetryWindow);
                if (isOver) throw Final(error, call, mayBeDone);
                await options.Transport.DelayAsync(wait, cancellationToken);
                retries++;
            }
        }

        private static TierwayException Final(TierwayException error, Call call, bool mayBeDone)
        {
            error.IdempotencyKey = call.Key;
            var isTold = call.IsAnsweredByKey && (error.Status == 404 || error.Status == 409 || error.Status == 422);
            error.IsOutcomeUnknown = call.IsChanging && mayBeDone && !isTold;
            return error;
        }

        private async Task<JsonValue> AttemptAsync(Call call, TokenPair pair, CancellationToken cancellationToken)
        {
            var request = RequestOf(call, pair, call.IsOfLines ? "*/*" : "application/json");
            TransportResponse response;
            try
            {
                response = await options.Transport.WithinAsync(
                    call.Timeout,
                    token => options.Transport.SendAsync(request, token),
                    cancellationToken);
            }
            catch (TimeoutException error)
            {
                throw Unanswered(ErrorCodes.Timeout, error);
            }
            catch (TransportException error)
            {
                cancellationToken.ThrowIfCancellationRequested();
                throw Unanswered(ErrorCodes.Network, error);
            }
            // A proxy or the log-in page of a network has a clock of its own.
            if (response.Header("X-Request-Id") != null) Clock.Hear(response.Header("Date"));
            if (response.Status == 204) return null;
            if (response.Status != 200) throw Refusal(call, response);
            if (call.IsOfLines) return LinesOf(response.Body);
            var body = ObjectOf(response.Body);
            if (body == null) throw Refusal(call, response);
            if (!call.IsGraphql) return body;
            var refused = GraphqlError(body, response.Header("X-Request-Id"));
            if (refused == null) return Understood(() => body.Member("data"));
            refused.IsOutcomeUnknown = MayBeDone(refused.Status, refused.Details);
            throw refused;
        }

        private TransportRequest RequestOf(Call call, TokenPair pair, string accept)
        {
            var headers = new List<KeyValuePair<string, string>> { Header("Accept", accept) };
            if (call.IsOfClient) headers.Add(Header("X-SDK-Key", options.SdkKey));
            if (pair != null) headers.Add(Header("Authorization", "Bearer " + pair.AccessToken));
            if (call.Key != null) headers.Add(Header("Idempotency-Key", call.Key));
            return new TransportRequest
            {
                Url = new Uri(options.BaseUrl + call.Path),
                Headers = headers,
                Body = Utf8.GetBytes(call.Body),
            };
        }

        private static KeyValuePair<string, string> Header(string name, string value)
        {
            return new KeyValuePair<string, string>(name, value);
        }

        private async Task<TokenPair> ExchangeAsync(string refreshToken, CancellationToken cancellationToken)
        {
            var call = new Call
            {
                Path = "/sdk/v1/authorization/refresh",
                Body = new JsonWriter().BeginObject().Name("refreshToken").Value(refreshToken).EndObject().ToString(),
                IsOfClient = true,
                Timeout = options.Timeout < RefreshTimeout ? options.Timeout : RefreshTimeout,
                RetryWindow = RefreshWindow,
            };
            return PairOf(await MakeAsync(call, cancellationToken));
        }

        public static TokenPair PairOf(JsonValue body)
        {
            return Understood(
                () => new TokenPair(body.Text("accessToken"), body.Text("refreshToken"), DateTimeOffset.UtcNow));
        }

        /// <summary>Reads an answer. An answer that breaks the contract is not from the service.</summary>
        public static T Understood<T>(Func<T> read)
        {
            try
            {
                return read();
            }
            catch (JsonFormatException error)
            {
                var message = "the answer is not as expected: " + error.Message;
                throw new TierwayException(ErrorCodes.InvalidResponse, message, error);
            }
        }

        private static async Task<byte[]> ReadAllAsync(ITransportStream stream, CancellationToken cancellationToken)
        {
            var buffer = new byte[8 * 1024];
            using (var all = new System.IO.MemoryStream())
            {
                while (all.Length < 64 * 1024)
                {
                    var count = await stream.ReadAsync(buffer, cancellationToken);
                    if (count == 0) break;
                    all.Write(buffer, 0, count);
                }
                return all.ToArray();
            }
        }

        private static TierwayException Unanswered(string code, Exception error)
        {
            return new TierwayException(code, error.Message, error) { Retryable = true, IsOutcomeUnknown = true };
        }

        /// <summary>The error of an answer that is not a success.</summary>
        private static TierwayException Refusal(Call call, TransportResponse response)
        {
            var status = response.Status;
            var id = response.Header("X-Request-Id");
            var retryAfter = RetryAfterOf(response);
            var body = ObjectOf(response.Body);
            if (body != null && call.IsGraphql)
            {
                var refused = GraphqlError(body, id);
                if (refused != null)
                {
                    refused.RetryAfter = retryAfter;
                    refused.IsOutcomeUnknown = MayBeDone(refused.Status, refused.Details);
                    return refused;
                }
            }
            var code = body == null ? null : body["code"];
            if (code == null || code.Kind != JsonKind.String || status < 400)
            {
                var message = "an answer with status " + status + " that is none of the service";
                return new TierwayException(ErrorCodes.InvalidResponse, message)
                {
                    Status = status,
                    RequestId = id,
                    // The log-in page of a public network answers in this way.
                    Retryable = status < 400 || IsPassing(status, ""),
                    IsOutcomeUnknown = status < 400 || status >= 500,
                    RetryAfter = retryAfter,
                };
            }
            var name = code.AsString();
            var error = body["error"];
            var requestId = body["requestId"];
            var details = DetailsOf(body);
            return new TierwayException(name, error != null && error.Kind == JsonKind.String ? error.AsString() : name)
            {
                Status = status,
                Details = details,
                Facts = FactsOf(body),
                RequestId = requestId != null && requestId.Kind == JsonKind.String ? requestId.AsString() : id,
                Retryable = IsPassing(status, name),
                IsOutcomeUnknown = MayBeDone(status, details) && !IsOfWebhook(name),
                RetryAfter = retryAfter,
            };
        }

        /// <summary>A 503 with details says that nothing was done.</summary>
        private static bool MayBeDone(int status, IReadOnlyList<ErrorDetail> details)
        {
            return status >= 500 && !(status == 503 && details.Count > 0);
        }

        private static JsonValue FactsOf(JsonValue value)
        {
            var details = value["details"];
            return details != null && details.Kind == JsonKind.Object ? details : null;
        }

        private static ErrorDetail[] DetailsOf(JsonValue value)
        {
            var details = value["details"];
            var found = new List<ErrorDetail>();
            if (details == null || details.Kind != JsonKind.Array) return found.ToArray();
            foreach (var detail in details.Items)
            {
                if (detail.Kind != JsonKind.Object) continue;
                found.Add(new ErrorDetail(detail.TextOrNull("path") ?? "", detail.TextOrNull("message") ?? ""));
            }
            return found.ToArray();
        }

        /// <summary>Whether the same call may succeed later.</summary>
        private static bool IsPassing(int status, string code)
        {
            if (code == ErrorCodes.CustomAuthInvalidResponse) return false;
            return status == 408 || status == 429 || status == 502 || status == 503 || status == 504;
        }

        /// <summary>
        /// Whether the call is retried. Not after a failed webhook: the service has called it three times already.
        /// </summary>
        private static bool IsRetried(TierwayException error)
        {
            if (error.Status == 0) return error.Retryable;
            return IsPassing(error.Status, error.Code) && !IsOfWebhook(error.Code);
        }

        private static bool IsOfWebhook(string code)
        {
            return code == ErrorCodes.CustomAuthUnavailable || code == ErrorCodes.CustomAuthInvalidResponse;
        }

        /// <summary>The REST status of a code.</summary>
        private static int StatusOf(string code)
        {
            switch (code)
            {
                case ErrorCodes.InvalidToken:
                case ErrorCodes.InvalidSdkKey:
                    return 401;
                case ErrorCodes.PlayerBanned:
                case ErrorCodes.PlayerDeleted:
                case ErrorCodes.Forbidden:
                    return 403;
                case ErrorCodes.ScenarioNotFound:
                case ErrorCodes.NodeNotFound:
                case ErrorCodes.RunNotFound:
                    return 404;
                case ErrorCodes.RunNotActive:
                case ErrorCodes.NodeNotActive:
                case ErrorCodes.SeasonClosed:
                case ErrorCodes.BalanceLimitExceeded:
                    return 409;
                case ErrorCodes.CursorExpired:
                    return 410;
                case ErrorCodes.RateLimited:
                    return 429;
                case ErrorCodes.InternalError:
                    return 500;
                case ErrorCodes.Unavailable:
                    return 503;
                default:
                    return 400;
            }
        }

        /// <summary>Seconds, or a time by the clock of the service.</summary>
        private static TimeSpan? RetryAfterOf(TransportResponse response)
        {
            var text = response.Header("Retry-After");
            if (text == null) return null;
            int seconds;
            if (int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out seconds))
                return TimeSpan.FromSeconds(seconds);
            DateTimeOffset then;
            DateTimeOffset now;
            var areTimes =
                ServiceClock.TryRead(text, out then) & ServiceClock.TryRead(response.Header("Date"), out now);
            return areTimes && then > now ? then - now : (TimeSpan?)null;
        }

        private static JsonValue LinesOf(byte[] body)
        {
            var lines = Utf8.GetString(body).TrimEnd('\n').Replace('\n', ',');
            return Understood(() => Json.Parse("[" + lines + "]"));
        }

        private static JsonValue ObjectOf(byte[] body)
        {
            try
            {
                var value = Json.Parse(Utf8.GetString(body));
                return value.Kind == JsonKind.Object ? value : null;
            }
            catch (JsonFormatException)
            {
                return null;
            }
            catch (ArgumentException)
            {
                // Not UTF-8.
                return null;
            }
        }
    }

    /// <summary>The player for whom alone calls are made.</summary>
    internal sealed class Owner
    {
        private readonly object gate = new object();
        /// <summary>Null before it is known.</summary>
        private string playerId;

        public Owner(string playerId)
        {
            this.playerId = playerId;
        }

        public bool IsFor(string other)
        {
            lock (gate) return playerId == null || playerId == other;
        }

        /// <summary>Whether calls are made for a player, whose id is null when its token cannot be read.</summary>
        public bool Takes(string caller)
        {
            lock (gate)
            {
                playerId = playerId ?? caller;
                return caller == null || playerId == caller;
            }
        }
    }
}
