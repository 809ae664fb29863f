import fc from 'fast-check'

/** Everything random of a test comes from it. Each run has another seed; `SEED=…` runs a failed test with its own again. */
export const SEED = Number(process.env.SEED)

fc.configureGlobal({ seed: SEED })
