using System;
using System.Security.Cryptography;
using System.Text;
using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>
    /// Makes the id by which this device logs a guest in, once, at random. Any holder of it is this player.
    /// </summary>
    internal sealed class Device
    {
        private const int Bytes = 32;

        private readonly ITextStorage storage;
        private readonly Turns making = new Turns();

        public Device(ITextStorage storage)
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
