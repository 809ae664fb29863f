using System;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>Keeps the id by which this device logs a guest in. Whoever has it is this player.</summary>
    public interface IDeviceStorage
    {
        /// <summary>The stored id; null when there is none. It throws when the id cannot be read.</summary>
        Task<string> LoadAsync(CancellationToken cancellationToken);

        Task SaveAsync(string deviceId, CancellationToken cancellationToken);
    }

    /// <summary>Keeps the id in memory.</summary>
    public sealed class MemoryDeviceStorage : IDeviceStorage
    {
        private volatile string deviceId;

        public Task<string> LoadAsync(CancellationToken cancellationToken)
        {
            return Task.FromResult(deviceId);
        }

        public Task SaveAsync(string deviceId, CancellationToken cancellationToken)
        {
            this.deviceId = deviceId;
            return Task.FromResult(true);
        }
    }

    /// <summary>Makes the id of this device, once, at random.</summary>
    internal sealed class Device
    {
        private const int Bytes = 32;

        private readonly IDeviceStorage storage;
        private readonly Turns making = new Turns();

        public Device(IDeviceStorage storage)
        {
            this.storage = storage;
        }

        /// <summary>An id that cannot be kept is not used: the guest would be lost.</summary>
        public async Task<string> IdAsync(CancellationToken cancellationToken)
        {
            await making.WaitAsync(cancellationToken);
            try
            {
                var known = await storage.LoadAsync(cancellationToken);
                if (!string.IsNullOrEmpty(known)) return known;
                var made = NewId();
                await storage.SaveAsync(made, cancellationToken);
                return made;
            }
            finally
            {
                making.Release();
            }
        }

        private static string NewId()
        {
            var bytes = new byte[Bytes];
            using (var random = RandomNumberGenerator.Create()) random.GetBytes(bytes);
            var text = new StringBuilder();
            foreach (var one in bytes) text.Append(one.ToString("x2"));
            return text.ToString();
        }
    }
}
