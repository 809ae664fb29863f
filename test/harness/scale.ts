/** A number that is `full` in `npm run test:faults`, and `small` in `npm test`, which must be quick. */
export const atScale = (full: number, small: number): number => (process.env.FULL_SCALE === undefined ? small : full)
