import fc from 'fast-check'

/** The seed of everything random in a test. Each run has another one; `SEED=…` repeats a failed test with its seed. */
export const SEED = Number(process.env.SEED)

fc.configureGlobal({ seed: SEED })
