import { keepText } from '../ui/storage.ts'

/** A text of `customData` that a person keeps in this browser, under a name. */
export interface Sample {
  readonly name: string
  readonly text: string
}

const placeOf = (environment: string, provider: string): string => `tierway.samples:${environment}:${provider}`

export function readSamples(storage: Storage, environment: string, provider: string): readonly Sample[] {
  try {
    const kept: unknown = JSON.parse(storage.getItem(placeOf(environment, provider)) ?? '[]')
    return Array.isArray(kept)
      ? kept.filter(({ name, text }) => typeof name === 'string' && typeof text === 'string')
      : []
  } catch {
    return []
  }
}

/** False when the samples cannot be kept. */
export const writeSamples = (
  storage: Storage,
  environment: string,
  provider: string,
  samples: readonly Sample[],
): boolean => keepText(storage, placeOf(environment, provider), JSON.stringify(samples))

/** The samples with one more, which replaces a sample of the same name. */
export const withSample = (samples: readonly Sample[], sample: Sample): readonly Sample[] =>
  [...samples.filter(({ name }) => name !== sample.name), sample].sort((a, b) => a.name.localeCompare(b.name))
