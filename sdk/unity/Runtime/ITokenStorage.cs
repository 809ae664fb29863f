using System;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>A login: what is kept of it on the device.</summary>
    public sealed class TokenPair
    {
        public TokenPair(string accessToken, string refreshToken, DateTimeOffset receivedAt)
        {
            AccessToken = accessToken;
            RefreshToken = refreshToken;
            ReceivedAt = receivedAt;
        }

        public string AccessToken { get; private set; }

        public string RefreshToken { get; private set; }

        /// <summary>When it came, by the clock of this device.</summary>
        public DateTimeOffset ReceivedAt { get; private set; }

        /// <summary>A text to keep it as.</summary>
        public string ToText()
        {
            return new JsonWriter()
                .BeginObject()
                .Name("accessToken")
                .Value(AccessToken)
                .Name("refreshToken")
                .Value(RefreshToken)
                .Name("receivedAt")
                .Value(ReceivedAt.ToUnixTimeMilliseconds())
                .EndObject()
                .ToString();
        }

        /// <summary>The pair of a text; null when the text is empty or none of <see cref="ToText"/>.</summary>
        public static TokenPair FromText(string text)
        {
            JsonValue value;
            if (!Json.TryParse(text, out value) || value.Kind != JsonKind.Object) return null;
            try
            {
                return new TokenPair(
                    value.Text("accessToken"),
                    value.Text("refreshToken"),
                    DateTimeOffset.FromUnixTimeMilliseconds(value.Int64("receivedAt")));
            }
            catch (FormatException)
            {
                return null;
            }
            catch (ArgumentOutOfRangeException)
            {
                return null;
            }
        }
    }

    /// <summary>Where a login is kept. Several clients may share one place.</summary>
    public interface ITokenStorage
    {
        /// <summary>The pair that is kept; null when there is none.</summary>
        Task<TokenPair> LoadAsync(CancellationToken cancellationToken);

        /// <summary>Keeps a pair in place of any other; null keeps none.</summary>
        Task SaveAsync(TokenPair pair, CancellationToken cancellationToken);
    }

    /// <summary>Keeps a login as long as the object lives.</summary>
    public sealed class MemoryTokenStorage : ITokenStorage
    {
        private volatile TokenPair pair;

        public Task<TokenPair> LoadAsync(CancellationToken cancellationToken)
        {
            return Task.FromResult(pair);
        }

        public Task SaveAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            this.pair = pair;
            return Task.FromResult(true);
        }
    }
}
