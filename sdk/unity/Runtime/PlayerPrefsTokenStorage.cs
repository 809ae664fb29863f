#if UNITY_5_3_OR_NEWER
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;

namespace Tierway
{
    /// <summary>
    /// Keeps a login in PlayerPrefs, across restarts of the game. PlayerPrefs are not encrypted: when that matters,
    /// implement <see cref="ITokenStorage"/> with the keychain of the platform. Call it on Unity's main thread.
    /// </summary>
    public sealed class PlayerPrefsTokenStorage : ITokenStorage
    {
        private readonly string key;

        public PlayerPrefsTokenStorage(string key = "tierway.tokens")
        {
            this.key = key;
        }

        public Task<TokenPair> LoadAsync(CancellationToken cancellationToken)
        {
            return Task.FromResult(TokenPair.FromText(PlayerPrefs.GetString(key, "")));
        }

        public Task SaveAsync(TokenPair pair, CancellationToken cancellationToken)
        {
            if (pair == null) PlayerPrefs.DeleteKey(key);
            else PlayerPrefs.SetString(key, pair.ToText());
            PlayerPrefs.Save();
            return Task.FromResult(true);
        }
    }
}
#endif
