using System;
using System.Collections.Generic;
using System.Linq;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway.Tests
{
    internal static class LoginTests
    {
        public static async Task LoginAsync()
        {
            var client = new TierwayClient(Program.Options());
            Check.True(!client.IsSignedIn && !await client.RestoreAsync(), "nobody is logged in");
            var error = await Check.ThrowsAsync<TierwayException>(() => client.PlayerAsync(), "a call of nobody");
            Check.Equal(ErrorCodes.NotSignedIn, error.Code, "a call of nobody");

            var name = Program.NewName();
            await client.LoginAsync(
                new LoginRequest
                {
                    CustomData = "{\"player\":\"" + name + "\", \"steam\":76561197960287930,\"x\":1.0 ,\"a\":1,\"a\":\"\\u0041\"}",
                    Nickname = "Ada \"\u00e9\" \ud83d\ude00",
                    Region = "eu-west",
                    Language = "pt-BR",
                });
            Check.True(client.IsSignedIn, "somebody is logged in");
            await Program.AskAsync("customData " + name);
            var player = await client.PlayerAsync();
            Check.Equal("Ada \"\u00e9\" \ud83d\ude00 eu-west pt-BR", player.Nickname + " " + player.Region + " " + player.Language, "a new player");
            Check.True(Math.Abs((DateTimeOffset.UtcNow - player.CreatedAt).TotalMinutes) < 5, "when it was made");
            Check.Equal("custom " + name, Identities(player), "its identity");

            var other = Program.NewName();
            await client.LinkAsync(new LinkRequest { CustomData = Program.CustomData(other), Provider = "steam" });
            player = await client.PlayerAsync();
            Check.Equal("custom " + name + ", custom:steam " + other, Identities(player), "both identities");
            var second = new TierwayClient(Program.Options());
            await second.LoginAsync(new LoginRequest { CustomData = Program.CustomData(other), Provider = "steam" });
            Check.Equal(player.PlayerId, (await second.PlayerAsync()).PlayerId, "by either it is the same player");
            var third = await Program.NewPlayerAsync();
            error = await Check.ThrowsAsync<TierwayException>(
                () => third.LinkAsync(new LinkRequest { CustomData = Program.CustomData(name) }),
                "an identity of another player");
            Check.Equal("409 " + ErrorCodes.IdentityAlreadyLinked, error.Status + " " + error.Code, "an identity of another player");
            Check.True(third.IsSignedIn, "nobody is logged out by it");

            foreach (var wrong in new[] { "[]", "null", "\"text\"", "1" })
                await Check.ThrowsAsync<ArgumentException>(() => client.LoginAsync(new LoginRequest { CustomData = wrong }), wrong);
            await Check.ThrowsAsync<ArgumentException>(() => client.LoginAsync(new LoginRequest()), "no customData");
        }

        public static async Task GuestAsync()
        {
            var storage = new MemoryTextStorage();
            var options = Program.Options();
            options.DeviceStorage = storage;
            var client = new TierwayClient(options);
            await Task.WhenAll(
                client.LoginGuestAsync(new GuestRequest { Nickname = "Guest" }),
                client.LoginGuestAsync(new GuestRequest { Nickname = "Guest" }));
            var player = await client.PlayerAsync();
            Check.Equal("Guest", player.Nickname, "a new guest");
            Check.Equal(64, (await storage.LoadAsync(CancellationToken.None)).Length, "the id that was made");
            await client.LogoutAsync();
            await client.LoginGuestAsync();
            Check.Equal(player.PlayerId, (await client.PlayerAsync()).PlayerId, "the same guest again");
            var name = Program.NewName();
            await client.LinkAsync(new LinkRequest { CustomData = Program.CustomData(name) });
            var other = new TierwayClient(Program.Options());
            await other.LoginAsync(new LoginRequest { CustomData = Program.CustomData(name) });
            Check.Equal(player.PlayerId, (await other.PlayerAsync()).PlayerId, "a guest who links keeps the player");
            await other.LinkGuestAsync();
            Check.Equal(3, (await other.PlayerAsync()).Identities.Count, "two devices and an account");
        }

        public static async Task IdTokenAsync()
        {
            var client = new TierwayClient(Program.Options());
            var token = Program.Setting("ID_TOKEN");
            var request = new IdTokenRequest { IdToken = token, Nonce = "a nonce", Provider = "studio", Nickname = "Ada" };
            await client.LoginOidcAsync(request);
            var player = await client.PlayerAsync();
            Check.Equal("Ada oidc:studio unity", player.Nickname + " " + Identities(player), "a new player");
            var error = await Check.ThrowsAsync<TierwayException>(() => client.LinkOidcAsync(request), "the same nonce");
            Check.Equal(ErrorCodes.IdTokenRejected + " nonce was used before", error.Code + " " + error.Details[0], "the same nonce");
            request.Nonce = null;
            error = await Check.ThrowsAsync<TierwayException>(() => client.LoginGoogleAsync(request), "no such provider");
            Check.Equal("401 " + ErrorCodes.SignInDisabled, error.Status + " " + error.Code, "no such provider");
            await Check.ThrowsAsync<TierwayException>(() => client.LoginAppleAsync(request), "no such provider");
            await Check.ThrowsAsync<TierwayException>(() => client.LinkGoogleAsync(request), "no such provider");
            await Check.ThrowsAsync<TierwayException>(() => client.LinkAppleAsync(request), "no such provider");
            await Check.ThrowsAsync<ArgumentException>(() => client.LoginOidcAsync(new IdTokenRequest { IdToken = token }), "no provider");
            await Check.ThrowsAsync<ArgumentException>(() => client.LoginGoogleAsync(new IdTokenRequest()), "no token");
        }

        public static async Task RefusedAsync()
        {
            var client = new TierwayClient(Program.Options());
            var error = await LoginErrorAsync(client, "reject");
            Check.Equal("401 " + ErrorCodes.CustomAuthRejected + " False", Line(error), "the studio says no");
            error = await LoginErrorAsync(client, "break");
            Check.Equal("503 " + ErrorCodes.CustomAuthUnavailable + " True", Line(error), "the studio is away");
            error = await LoginErrorAsync(client, "babble");
            Check.Equal("502 " + ErrorCodes.CustomAuthInvalidResponse + " False", Line(error), "the studio's answer is none");
            error = await Check.ThrowsAsync<TierwayException>(
                () => client.LoginAsync(new LoginRequest { CustomData = "{}", Provider = "nobody" }),
                "a provider that is not there");
            Check.Equal("401 " + ErrorCodes.CustomAuthDisabled + " False", Line(error), "a provider that is not there");
            Check.True(!client.IsSignedIn, "nobody is logged in");
            var options = Program.Options();
            options.SdkKey = "twsdk_none";
            error = await LoginErrorAsync(new TierwayClient(options), "somebody");
            Check.Equal("401 " + ErrorCodes.InvalidSdkKey + " False", Line(error), "an unknown key");
        }

        public static async Task RefreshAsync()
        {
            var storage = new LoggedStorage();
            await storage.SaveAsync(await RefusedPairAsync(), CancellationToken.None);
            storage.Log.Clear();
            var client = ClientOn(storage);
            var signedOut = 0;
            client.SignedOut += reason => signedOut++;
            Check.True(await client.RestoreAsync(), "the login of an earlier run is taken over");
            var players = await Task.WhenAll(Enumerable.Range(0, 20).Select(number => client.PlayerAsync()));
            Check.Equal(1, players.Select(player => player.PlayerId).Distinct().Count(), "all are answered");
            Check.Sequence(new[] { "load", "load", "save" }, storage.Log, "the storage is read again, and then written");
            var kept = await storage.LoadAsync(CancellationToken.None);
            Check.True(kept.AccessToken.Split('.').Length == 3 && !kept.AccessToken.StartsWith("refused"), "the new pair is kept");
            Check.Equal(0, signedOut, "nobody is logged out");
            Check.Equal(players[0].PlayerId, (await ClientOn(storage).PlayerAsync()).PlayerId, "what is kept is good");
        }

        public static async Task AdoptAsync()
        {
            var storage = new MemoryTokenStorage();
            await storage.SaveAsync(await RefusedPairAsync(), CancellationToken.None);
            var first = ClientOn(storage);
            var second = ClientOn(storage);
            Check.True(await first.RestoreAsync() && await second.RestoreAsync(), "both have the same login");
            await first.PlayerAsync();
            await second.PlayerAsync();

            // The other client stores its pair while ours is being refused.
            var good = await storage.LoadAsync(CancellationToken.None);
            var old = new TokenPair("refused", "twrt_none", DateTimeOffset.UtcNow);
            var late = ClientOn(new ScriptedStorage(old, old, good));
            var signedOut = 0;
            late.SignedOut += reason => signedOut++;
            await late.PlayerAsync();
            Check.True(late.IsSignedIn && signedOut == 0, "the other client's pair is taken over");
        }

        /// <summary>
        /// A token that is about to expire is replaced before it is used, unless this fails while the token is still
        /// valid.
        /// </summary>
        public static async Task EarlyAsync()
        {
            var storage = new MemoryTokenStorage();
            var good = await NewPairAsync();
            var old = new TokenPair(good.AccessToken, good.RefreshToken, DateTimeOffset.UtcNow.AddHours(-24).AddSeconds(60));
            await storage.SaveAsync(old, CancellationToken.None);
            await Program.AskAsync("refresh 503");
            var client = ClientOn(storage, retries: 0);
            await client.PlayerAsync();
            await client.PlayerAsync();
            Check.True(ReferenceEquals(old, await storage.LoadAsync(CancellationToken.None)), "the pair is still kept");
            await Program.AskAsync("early 1");
            client = ClientOn(storage);
            await client.PlayerAsync();
            Check.True(!ReferenceEquals(old, await storage.LoadAsync(CancellationToken.None)), "the pair is replaced");
            await Program.AskAsync("early 2");
        }

        /// <summary>The age of a token does not depend on the clock of the device.</summary>
        public static async Task ClockAsync()
        {
            var good = await NewPairAsync();
            var payload = Convert.ToBase64String(Encoding.UTF8.GetBytes("{\"iat\":1000,\"exp\":87400}")).TrimEnd('=');
            var ended = "e30." + payload + ".x";
            foreach (var receivedAt in new[] { DateTimeOffset.UtcNow, DateTimeOffset.UtcNow.AddYears(3) })
            {
                var storage = new MemoryTokenStorage();
                await storage.SaveAsync(new TokenPair(ended, good.RefreshToken, receivedAt), CancellationToken.None);
                await ClientOn(storage).PlayerAsync();
                good = await storage.LoadAsync(CancellationToken.None);
            }
            await Program.AskAsync("clock " + ended);
        }

        public static async Task OfflineAsync()
        {
            var storage = new MemoryTokenStorage();
            var pair = await RefusedPairAsync();
            await storage.SaveAsync(pair, CancellationToken.None);
            var client = ClientOn(storage, retries: 0);
            var signedOut = 0;
            client.SignedOut += reason => signedOut++;
            foreach (var failure in new[] { "cut", "429", "500", "502", "503", "page", "403" })
            {
                await Program.AskAsync("refresh " + failure);
                var error = await Check.ThrowsAsync<TierwayException>(() => client.PlayerAsync(), failure);
                Check.True(error.Code != ErrorCodes.InvalidToken, "what failed is told: " + failure + " is " + error.Code);
                Check.True(client.IsSignedIn, "still logged in after " + failure);
                Check.True(ReferenceEquals(pair, await storage.LoadAsync(CancellationToken.None)), "still kept after " + failure);
            }
            await Program.AskAsync("refresh pass");
            await client.PlayerAsync();
            Check.Equal(0, signedOut, "nobody was logged out");
        }

        public static async Task EndedAsync()
        {
            var first = new MemoryTokenStorage();
            var client = await Program.NewPlayerAsync(OptionsOn(first));
            var pair = await first.LoadAsync(CancellationToken.None);
            var storage = new LoggedStorage();
            await storage.SaveAsync(new TokenPair("refused", pair.RefreshToken, pair.ReceivedAt), CancellationToken.None);
            var other = ClientOn(storage);
            var told = new List<string>();
            other.SignedOut += reason =>
            {
                Pump.Require();
                told.Add(reason + " " + (storage.Pair == null) + " " + other.IsSignedIn);
            };
            await client.LogoutAsync();
            var calls = Enumerable.Range(0, 5).Select(
                number => Check.ThrowsAsync<TierwayException>(() => other.PlayerAsync(), "a call of a login that has ended"));
            foreach (var error in await Task.WhenAll(calls))
                Check.Equal("401 " + ErrorCodes.InvalidToken, error.Status + " " + error.Code, "why");
            Check.Sequence(new[] { "SessionEnded True False" }, told, "it is told once, and kept before");
            var after = await Check.ThrowsAsync<TierwayException>(() => other.PlayerAsync(), "a call of nobody");
            Check.Equal(ErrorCodes.NotSignedIn, after.Code, "a call of nobody");
        }

        public static async Task LogoutAsync()
        {
            var storage = new MemoryTokenStorage();
            var client = await Program.NewPlayerAsync(OptionsOn(storage, 1));
            var pair = await storage.LoadAsync(CancellationToken.None);
            var told = new List<string>();
            client.SignedOut += reason => told.Add(reason + " " + client.IsSignedIn);
            await Program.AskAsync("freeze");
            var leaving = client.LogoutAsync();
            await Check.UntilAsync(() => told.Count == 1, "it is told");
            Check.True(!leaving.IsCompleted, "before the service is");
            Check.True(!client.IsSignedIn && await storage.LoadAsync(CancellationToken.None) == null, "nothing is kept");
            await Program.AskAsync("down");
            await leaving;
            await client.LogoutAsync();
            Check.Sequence(new[] { "LoggedOut False" }, told, "once");
            await Program.AskAsync("up");

            // When the service can be reached, the login ends there.
            await storage.SaveAsync(pair, CancellationToken.None);
            client = ClientOn(storage);
            await client.LogoutAsync();
            await storage.SaveAsync(new TokenPair("refused", pair.RefreshToken, pair.ReceivedAt), CancellationToken.None);
            var error = await Check.ThrowsAsync<TierwayException>(() => ClientOn(storage).PlayerAsync(), "a login that has ended");
            Check.Equal(ErrorCodes.InvalidToken, error.Code, "a login that has ended");
        }

        public static async Task ReplacedAsync()
        {
            var pair = await NewPairAsync();
            var parts = pair.AccessToken.Split('.');
            var storage = new MemoryTokenStorage();
            // The token names its player, and the service refuses it.
            var refused = new TokenPair(parts[0] + "." + parts[1] + ".AAAA", pair.RefreshToken, pair.ReceivedAt);
            await storage.SaveAsync(refused, CancellationToken.None);
            var client = ClientOn(storage);
            var told = new List<string>();
            client.SignedOut += reason => told.Add(reason + " " + client.IsSignedIn);
            await Program.AskAsync("hold");
            var late = client.PlayerAsync();
            await Program.AskAsync("held");
            var name = Program.NewName();
            await client.LoginAsync(new LoginRequest { CustomData = Program.CustomData(name) });
            Check.Sequence(new[] { "Replaced True" }, told, "the first player is logged out");
            var next = await client.PlayerAsync();
            await Program.AskAsync("release");
            var error = await Check.ThrowsAsync<TierwayException>(() => late, "a call of the first player");
            Check.Equal(ErrorCodes.NotSignedIn, error.Code, "a call of the first player");
            Check.Equal(next.PlayerId, (await client.PlayerAsync()).PlayerId, "the second player stays");
            await client.LoginAsync(new LoginRequest { CustomData = Program.CustomData(name) });
            Check.Sequence(new[] { "Replaced True" }, told, "the same player replaces nobody");

            var former = new MemoryTokenStorage();
            await former.SaveAsync(pair, CancellationToken.None);
            var last = ClientOn(former);
            var isOver = false;
            last.SignedOut += reason => isOver = true;
            while (!isOver)
            {
                try
                {
                    await last.PlayerAsync();
                    await Task.Delay(50);
                }
                catch (TierwayException ended)
                {
                    Check.Equal(401, ended.Status, "the former login is over at the service");
                }
            }
        }

        public static async Task BrokenStorageAsync()
        {
            var throwing = await Program.NewPlayerAsync(OptionsOn(new BrokenStorage(false)));
            await throwing.PlayerAsync();
            Check.True(throwing.IsSignedIn, "the login goes on in memory");
            Check.True(Program.Errors.Any(error => error.Message == "the disk is full"), "it is reported");
            Program.Errors.Clear();
            var hanging = await Program.NewPlayerAsync(OptionsOn(new BrokenStorage(true)));
            await hanging.PlayerAsync();
            Check.True(Program.Errors.Count > 0 && Program.Errors.All(error => error is TimeoutException), "one that hangs is given up");
        }

        private static async Task<TierwayException> LoginErrorAsync(TierwayClient client, string player)
        {
            var request = new LoginRequest { CustomData = Program.CustomData(player) };
            return await Check.ThrowsAsync<TierwayException>(() => client.LoginAsync(request), player);
        }

        private static string Line(TierwayException error)
        {
            return error.Status + " " + error.Code + " " + error.Retryable;
        }

        private static string Identities(Player player)
        {
            return string.Join(", ", player.Identities.Select(one => one.Provider + " " + one.Subject));
        }

        public static TierwayOptions OptionsOn(ITokenStorage storage, int retries = 3)
        {
            var options = Program.Options();
            options.TokenStorage = storage;
            options.MaxRetries = retries;
            return options;
        }

        public static TierwayClient ClientOn(ITokenStorage storage, int retries = 3)
        {
            return new TierwayClient(OptionsOn(storage, retries));
        }

        /// <summary>A pair of a new player.</summary>
        public static async Task<TokenPair> NewPairAsync()
        {
            var storage = new MemoryTokenStorage();
            await Program.NewPlayerAsync(OptionsOn(storage));
            return await storage.LoadAsync(CancellationToken.None);
        }

        /// <summary>The same with an access token that the service refuses.</summary>
        public static async Task<TokenPair> RefusedPairAsync()
        {
            var pair = await NewPairAsync();
            return new TokenPair("refused", pair.RefreshToken, pair.ReceivedAt);
        }
    }

    /// <summary>A slow storage, like those of devices, that records its calls.</summary>
    internal sealed class LoggedStorage : ITokenStorage
    {
        public readonly List<string> Log = new List<string>();

        /// <summary>As text, so that both conversions are used.</summary>
        private string text = "";

        public TokenPair Pair
        {
            get { return TokenPair.FromText(text); }
        }

        public async Task<TokenPair> LoadAsync(CancellationToken cancellationToken)
        {
            Pump.Require();
            Log.Add("load");
            await Task.Delay(20);
            return Pair;
        }

        public async Task SaveAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            Pump.Require();
            Log.Add("save");
            await Task.Delay(20);
            text = pair == null ? "" : pair.ToText();
        }
    }

    /// <summary>A storage that another client writes to meanwhile: it returns one pair after the other.</summary>
    internal sealed class ScriptedStorage : ITokenStorage
    {
        private readonly Queue<TokenPair> pairs;

        public ScriptedStorage(params TokenPair[] pairs)
        {
            this.pairs = new Queue<TokenPair>(pairs);
        }

        public Task<TokenPair> LoadAsync(CancellationToken cancellationToken)
        {
            return Task.FromResult(pairs.Count > 1 ? pairs.Dequeue() : pairs.Peek());
        }

        public Task SaveAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            return Task.FromResult(true);
        }
    }

    internal sealed class BrokenStorage : ITokenStorage
    {
        private readonly bool hangs;

        public BrokenStorage(bool hangs)
        {
            this.hangs = hangs;
        }

        public Task<TokenPair> LoadAsync(CancellationToken cancellationToken)
        {
            if (hangs) return new TaskCompletionSource<TokenPair>().Task;
            throw new InvalidOperationException("the disk is gone");
        }

        public Task SaveAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            if (hangs) return new TaskCompletionSource<bool>().Task;
            throw new InvalidOperationException("the disk is full");
        }
    }
}
