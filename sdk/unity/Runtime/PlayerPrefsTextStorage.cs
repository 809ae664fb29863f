#if UNITY_5_3_OR_NEWER
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;

namespace Tierway
{
    /// <summary>
    /// Keeps a text in PlayerPrefs, across restarts of the game. PlayerPrefs are not encrypted: when that matters, implement
    /// <see cref="ITextStorage"/> with the keychain of the platform. Call it on Unity's main thread.
    /// </summary>
    public sealed class PlayerPrefsTextStorage : ITextStorage
    {
        private readonly string key;

        /// <param name="key">A key of PlayerPrefs, one for each text: <c>tierway.device</c>, <c>tierway.xp</c>.</param>
        public PlayerPrefsTextStorage(string key)
        {
            this.key = key;
        }

        public Task<string> LoadAsync(CancellationToken cancellationToken)
        {
            var stored = PlayerPrefs.GetString(key, "");
            return Task.FromResult(stored.Length == 0 ? null : stored);
        }

        public Task SaveAsync(string text, CancellationToken cancellationToken)
        {
            PlayerPrefs.SetString(key, text);
            PlayerPrefs.Save();
            return Task.FromResult(true);
        }
    }
}
#endif
