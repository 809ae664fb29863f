#if UNITY_5_3_OR_NEWER
using System.Threading;
using System.Threading.Tasks;
using UnityEngine;

namespace Tierway
{
    /// <summary>
    /// Keeps the id of a guest in PlayerPrefs, across restarts of the game. PlayerPrefs are not encrypted: when that
    /// matters, implement <see cref="IDeviceStorage"/> with the keychain of the platform. Call it on Unity's main thread.
    /// </summary>
    public sealed class PlayerPrefsDeviceStorage : IDeviceStorage
    {
        private readonly string key;

        public PlayerPrefsDeviceStorage(string key = "tierway.device")
        {
            this.key = key;
        }

        public Task<string> LoadAsync(CancellationToken cancellationToken)
        {
            var stored = PlayerPrefs.GetString(key, "");
            return Task.FromResult(stored.Length == 0 ? null : stored);
        }

        public Task SaveAsync(string deviceId, CancellationToken cancellationToken)
        {
            PlayerPrefs.SetString(key, deviceId);
            PlayerPrefs.Save();
            return Task.FromResult(true);
        }
    }
}
#endif
