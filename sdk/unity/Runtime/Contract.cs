// Written by `npm run schema` from the declarations of the service. Change those instead.

namespace Tierway
{
    internal static class Contract
    {
        /// <summary>Types of nodes that the service leaves at once, so that they are never active.</summary>
        internal static readonly string[] PassedTypes = { "start", "reward" };
    }
}
