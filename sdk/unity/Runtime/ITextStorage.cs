using System.Threading;
using System.Threading.Tasks;

namespace Tierway
{
    /// <summary>Keeps one text on the device: the id of a guest, or the xp of an <see cref="Outbox"/>.</summary>
    public interface ITextStorage
    {
        /// <summary>The stored text; null when there is none. It throws when the text cannot be read.</summary>
        Task<string> LoadAsync(CancellationToken cancellationToken);

        Task SaveAsync(string text, CancellationToken cancellationToken);
    }

    /// <summary>Keeps the text in memory.</summary>
    public sealed class MemoryTextStorage : ITextStorage
    {
        private volatile string kept;

        public Task<string> LoadAsync(CancellationToken cancellationToken)
        {
            return Task.FromResult(kept);
        }

        public Task SaveAsync(string text, CancellationToken cancellationToken)
        {
            kept = text;
            return Task.FromResult(true);
        }
    }
}
