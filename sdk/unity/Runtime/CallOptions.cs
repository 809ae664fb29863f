using System;

namespace Tierway
{
    /// <summary>Limits of one call. What is not set is as in the options of the client.</summary>
    public sealed class CallOptions
    {
        private static readonly TimeSpan Longest = TimeSpan.FromDays(1);

        /// <summary>The time limit of one attempt.</summary>
        public TimeSpan? Timeout { get; set; }

        /// <summary>The maximum number of retries.</summary>
        public int? MaxRetries { get; set; }

        internal void Check()
        {
            if (Timeout <= TimeSpan.Zero || Timeout > Longest)
                throw new ArgumentException("Timeout must be longer than 0 and at most a day");
            if (MaxRetries < 0) throw new ArgumentException("MaxRetries must be 0 or more");
        }
    }
}
