using System;
using System.Diagnostics;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>Why a login ended.</summary>
    public enum SignedOutReason
    {
        /// <summary>The game logged out.</summary>
        LoggedOut,

        /// <summary>The service no longer accepts the login: it expired, or was ended.</summary>
        SessionEnded,

        /// <summary>Another player has logged in with this client.</summary>
        Replaced,
    }

    /// <summary>A pair, with its age as this device knows it.</summary>
    internal sealed class HeldPair
    {
        private readonly Stopwatch watch = Stopwatch.StartNew();
        private readonly TimeSpan ageBefore;
        private readonly TimeSpan? lifetime;

        public HeldPair(TokenPair pair)
        {
            Pair = pair;
            var claims = ClaimsOf(pair.AccessToken);
            lifetime = LifetimeOf(claims);
            PlayerId = claims == null ? null : claims.TextOrNull("sub");
            ageBefore = AgeByClock();
        }

        public TokenPair Pair { get; private set; }

        /// <summary>The player of the pair; null when its token cannot be read.</summary>
        public string PlayerId { get; private set; }

        /// <summary>Whether both are of one player, as far as their tokens say.</summary>
        public bool IsOfPlayerOf(HeldPair other)
        {
            return PlayerId == null || other.PlayerId == null || PlayerId == other.PlayerId;
        }

        /// <summary>
        /// Whether the access token is valid for this time, as far as this device knows. Only the time since its
        /// arrival counts: the clock may be wrong, and may have been set meanwhile.
        /// </summary>
        public bool IsGoodFor(TimeSpan time)
        {
            if (lifetime == null) return true;
            // A stopwatch may stop while a device sleeps.
            var byWatch = ageBefore + watch.Elapsed;
            var byClock = AgeByClock();
            return (byWatch > byClock ? byWatch : byClock) + time < lifetime.Value;
        }

        private TimeSpan AgeByClock()
        {
            var age = DateTimeOffset.UtcNow - Pair.ReceivedAt;
            return age > TimeSpan.Zero ? age : TimeSpan.Zero;
        }

        /// <summary>The lifetime in the token's claims; null when they do not have it.</summary>
        private static TimeSpan? LifetimeOf(JsonValue claims)
        {
            if (claims == null) return null;
            try
            {
                return TimeSpan.FromSeconds(claims.Int64("exp") - claims.Int64("iat"));
            }
            catch (FormatException)
            {
                return null;
            }
            catch (OverflowException)
            {
                return null;
            }
        }

        /// <summary>The claims of a token; null when they cannot be read.</summary>
        private static JsonValue ClaimsOf(string accessToken)
        {
            var parts = accessToken.Split('.');
            if (parts.Length != 3) return null;
            try
            {
                var base64 = parts[1].Replace('-', '+').Replace('_', '/');
                base64 += new string('=', (4 - base64.Length % 4) % 4);
                var claims = Json.Parse(Encoding.UTF8.GetString(Convert.FromBase64String(base64)));
                return claims.Kind == JsonKind.Object ? claims : null;
            }
            catch (FormatException)
            {
                return null;
            }
        }
    }

    /// <summary>
    /// Keeps the login of a client: loads and saves it, and refreshes it, once for all waiting calls.
    /// </summary>
    internal sealed class Tokens
    {
        private static readonly TimeSpan Margin = TimeSpan.FromSeconds(90);
        /// <summary>
        /// For this long after a failed refresh, calls do not wait for another one while the token is still valid.
        /// </summary>
        private static readonly TimeSpan CoolDown = TimeSpan.FromSeconds(15);
        private static readonly TimeSpan StorageLimit = TimeSpan.FromSeconds(5);

        private readonly TierwayOptions options;
        /// <summary>Exchanges a refresh token for a new pair.</summary>
        private readonly Func<string, CancellationToken, Task<TokenPair>> exchange;
        private readonly Action<SignedOutReason> signedOut;
        private readonly CancellationToken lifetime;
        private readonly Turns storing = new Turns();

        private readonly object gate = new object();
        private HeldPair current;
        private bool isLoaded;
        private Task<HeldPair> loading;
        private Task<HeldPair> refreshing;
        /// <summary>The pair that the refresh is for.</summary>
        private HeldPair refreshed;
        private Stopwatch sinceFailure;

        public Tokens(
            TierwayOptions options,
            Func<string, CancellationToken, Task<TokenPair>> exchange,
            Action<SignedOutReason> signedOut,
            CancellationToken lifetime)
        {
            this.options = options;
            this.exchange = exchange;
            this.signedOut = signedOut;
            this.lifetime = lifetime;
        }

        public bool IsSignedIn
        {
            get { return Current != null; }
        }

        /// <summary>Whether the token storage was read, or a login has begun.</summary>
        public bool IsLoaded
        {
            get
            {
                lock (gate) return isLoaded;
            }
        }

        /// <summary>The logged-in player; null for nobody, and when its token cannot be read.</summary>
        public string PlayerId
        {
            get
            {
                var held = Current;
                return held == null ? null : held.PlayerId;
            }
        }

        private HeldPair Current
        {
            get
            {
                lock (gate) return current;
            }
        }

        /// <summary>The pair to call with: refreshed when it is about to expire.</summary>
        public async Task<HeldPair> GetAsync(CancellationToken cancellationToken)
        {
            await LoadAsync(cancellationToken);
            var held = Current;
            if (held == null) throw NotSignedIn();
            if (held.IsGoodFor(Margin)) return held;
            if (IsCoolingDown() && held.IsGoodFor(TimeSpan.Zero)) return held;
            HeldPair renewed;
            try
            {
                renewed = await RefreshAsync(held, cancellationToken);
            }
            catch (TierwayException error)
            {
                // The token has not expired: the service decides whether it is valid.
                if (error.Retryable && held.IsGoodFor(TimeSpan.Zero) && Current == held) return held;
                throw error.Again();
            }
            // Another player has logged in meanwhile. No call is made for another player than it was meant for.
            if (!renewed.IsOfPlayerOf(held)) throw NotSignedIn();
            return renewed;
        }

        /// <summary>Replaces a pair that the service has refused.</summary>
        public async Task RenewAsync(TokenPair refused, CancellationToken cancellationToken)
        {
            var held = Current;
            if (held == null) throw NotSignedIn();
            if (held.Pair.AccessToken != refused.AccessToken) return;
            try
            {
                await RefreshAsync(held, cancellationToken);
            }
            catch (TierwayException error)
            {
                throw error.Again();
            }
        }

        /// <summary>
        /// Takes the pair of a new login. Returns the pair of another player, who is logged out by it; null when there
        /// was none.
        /// </summary>
        public async Task<TokenPair> SetAsync(TokenPair pair)
        {
            await LoadAsync(CancellationToken.None);
            var held = new HeldPair(pair);
            HeldPair former;
            lock (gate)
            {
                former = current;
                current = held;
                isLoaded = true;
                sinceFailure = null;
            }
            await SaveAsync();
            if (former == null || former.IsOfPlayerOf(held)) return null;
            signedOut(SignedOutReason.Replaced);
            return former.Pair;
        }

        /// <summary>
        /// Forgets the login, only on this device. Returns the previous pair; null when there was none.
        /// </summary>
        public async Task<TokenPair> ForgetAsync()
        {
            await LoadAsync(CancellationToken.None);
            HeldPair last;
            lock (gate)
            {
                last = current;
                current = null;
            }
            if (last == null) return null;
            await SaveAsync();
            signedOut(SignedOutReason.LoggedOut);
            return last.Pair;
        }

        /// <summary>Loads the login that an earlier run of the game has stored.</summary>
        public async Task LoadAsync(CancellationToken cancellationToken)
        {
            TaskCompletionSource<HeldPair> mine = null;
            Task<HeldPair> shared;
            lock (gate)
            {
                if (isLoaded) return;
                if (loading == null)
                {
                    mine = new TaskCompletionSource<HeldPair>();
                    loading = mine.Task;
                }
                shared = loading;
            }
            if (mine != null) Complete(mine, LoadCoreAsync);
            await shared.OrCancelledAsync(cancellationToken);
        }

        private async Task<HeldPair> LoadCoreAsync()
        {
            var stored = await ReadStorageAsync();
            lock (gate)
            {
                loading = null;
                // A login was faster, or the storage did not answer.
                if (isLoaded || !stored.IsRead) return current;
                isLoaded = true;
                current = stored.Pair == null ? null : new HeldPair(stored.Pair);
                return current;
            }
        }

        /// <summary>All callers that need a refresh share one.</summary>
        private async Task<HeldPair> RefreshAsync(HeldPair stale, CancellationToken cancellationToken)
        {
            TaskCompletionSource<HeldPair> mine = null;
            Task<HeldPair> shared;
            lock (gate)
            {
                if (current == null) throw NotSignedIn();
                if (current != stale) return current;
                // A refresh of an earlier login does not answer for this one.
                if (refreshing == null || refreshed != stale)
                {
                    mine = new TaskCompletionSource<HeldPair>();
                    refreshing = mine.Task;
                    refreshed = stale;
                }
                shared = refreshing;
            }
            if (mine != null) Complete(mine, () => RefreshOnceAsync(stale));
            return await shared.OrCancelledAsync(cancellationToken);
        }

        private async Task<HeldPair> RefreshOnceAsync(HeldPair stale)
        {
            try
            {
                var renewed = await RefreshCoreAsync(stale);
                lock (gate) sinceFailure = null;
                return renewed;
            }
            catch (Exception)
            {
                lock (gate) sinceFailure = Stopwatch.StartNew();
                throw;
            }
            finally
            {
                lock (gate)
                {
                    if (refreshed == stale) refreshing = null;
                }
            }
        }

        private async Task<HeldPair> RefreshCoreAsync(HeldPair stale)
        {
            var adopted = await AdoptAsync(stale);
            if (adopted != null)
            {
                if (adopted.IsGoodFor(Margin)) return adopted;
                stale = adopted;
            }
            TokenPair pair;
            try
            {
                pair = await exchange(stale.Pair.RefreshToken, lifetime);
            }
            catch (TierwayException error)
            {
                if (error.Status != 401 || error.Code != ErrorCodes.InvalidToken) throw;
                // Another client may have used the token meanwhile, and have stored its new pair.
                adopted = await AdoptAsync(stale);
                if (adopted != null) return adopted;
                lock (gate)
                {
                    if (current != stale) return current ?? throw NotSignedIn();
                    current = null;
                }
                await SaveAsync();
                signedOut(SignedOutReason.SessionEnded);
                throw;
            }
            var renewed = new HeldPair(pair);
            lock (gate)
            {
                // A logout or a login was faster.
                if (current != stale) return current ?? throw NotSignedIn();
                current = renewed;
            }
            await SaveAsync();
            return renewed;
        }

        /// <summary>Adopts and returns a pair that another client has stored meanwhile; null when there is none.</summary>
        private async Task<HeldPair> AdoptAsync(HeldPair stale)
        {
            var stored = await ReadStorageAsync();
            if (stored.Pair == null || stored.Pair.RefreshToken == stale.Pair.RefreshToken) return null;
            var other = new HeldPair(stored.Pair);
            lock (gate)
            {
                if (current != stale) return current ?? throw NotSignedIn();
                current = other;
            }
            return other;
        }

        private struct Stored
        {
            public bool IsRead;
            public TokenPair Pair;
        }

        private async Task<Stored> ReadStorageAsync()
        {
            await storing.WaitAsync(lifetime);
            try
            {
                var pair = await options.Transport.WithinAsync(StorageLimit, options.TokenStorage.LoadAsync, lifetime);
                return new Stored { IsRead = true, Pair = pair };
            }
            catch (Exception error)
            {
                lifetime.ThrowIfCancellationRequested();
                options.Report(error);
                return new Stored();
            }
            finally
            {
                storing.Release();
            }
        }

        /// <summary>Stores the pair that is current in its turn: the last of several saves stores the newest.</summary>
        private async Task SaveAsync()
        {
            await storing.WaitAsync(lifetime);
            try
            {
                var held = Current;
                await options.Transport.WithinAsync(
                    StorageLimit,
                    async token =>
                    {
                        await options.TokenStorage.SaveAsync(held == null ? null : held.Pair, token);
                        return true;
                    },
                    lifetime);
            }
            catch (Exception error)
            {
                lifetime.ThrowIfCancellationRequested();
                // The login stays in memory.
                options.Report(error);
            }
            finally
            {
                storing.Release();
            }
        }

        private bool IsCoolingDown()
        {
            lock (gate) return sinceFailure != null && sinceFailure.Elapsed < CoolDown;
        }

        private static async void Complete(TaskCompletionSource<HeldPair> mine, Func<Task<HeldPair>> work)
        {
            try
            {
                mine.SetResult(await work());
            }
            catch (Exception error)
            {
                mine.SetException(error);
                // All waiting callers may have been cancelled.
                GC.KeepAlive(mine.Task.Exception);
            }
        }

        public static TierwayException NotSignedIn()
        {
            return new TierwayException(ErrorCodes.NotSignedIn, "nobody is logged in");
        }
    }
}
