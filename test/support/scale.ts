/** A number that `npm run test:faults` has in full, and `npm test` smaller, so that it takes no longer than it must. */
export const atScale = (full: number, small: number): number => (process.env.FULL_SCALE === undefined ? small : full)
