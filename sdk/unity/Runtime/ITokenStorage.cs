using System;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>The tokens of a login, as they are kept on the device.</summary>
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

        /// <summary>The time of its arrival, by the clock of this device.</summary>
        public DateTimeOffset ReceivedAt { get; private set; }

        /// <summary>The pair as a text, for a storage.</summary>
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

        /// <summary>The pair of a text; null when the text is not one of <see cref="ToText"/>.</summary>
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

    /// <summary>Keeps a login. Several clients may share one storage.</summary>
    public interface ITokenStorage
    {
        /// <summary>The stored pair; null when there is none.</summary>
        Task<TokenPair> LoadAsync(CancellationToken cancellationToken);

        /// <summary>Replaces the stored pair; null removes it.</summary>
        Task SaveAsync(TokenPair pair, CancellationToken cancellationToken);
    }

    /// <summary>Keeps a login in memory.</summary>
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
