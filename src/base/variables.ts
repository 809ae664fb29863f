/** Kubernetes adds variables such as METRICS_PORT to each pod, beside a service named `metrics`. */
const LINKS = ': Kubernetes sets it for a service of that name, unless the pod has enableServiceLinks: false'

/** Reads environment variables, and collects what is wrong with them. */
export class Variables {
  readonly faults: string[] = []
  private readonly env: Readonly<Record<string, string | undefined>>

  constructor(env: Readonly<Record<string, string | undefined>>) {
    this.env = env
  }

  /** Null for one that is absent or empty. */
  text(name: string): string | null {
    return this.env[name]?.trim() || null
  }

  integer(name: string, fallback: number, min: number, max: number): number {
    const value = this.text(name)
    if (value === null) return fallback
    const number = Number(value)
    if (/^\d+$/.test(value) && number >= min && number <= max) return number
    const origin = value.startsWith('tcp://') ? LINKS : ''
    this.faults.push(`${name} must be a whole number from ${min} to ${max}${origin}`)
    return fallback
  }

  flag(name: string, fallback: boolean): boolean {
    const value = this.text(name)
    if (value === null || value === 'true' || value === 'false') return value === null ? fallback : value === 'true'
    this.faults.push(`${name} must be true or false`)
    return fallback
  }

  oneOf<T extends string>(name: string, values: readonly T[], fallback: T): T {
    const value = this.text(name)
    if (value === null) return fallback
    const known = values.find((candidate) => candidate === value)
    if (known === undefined) this.faults.push(`${name} must be one of ${values.join(', ')}`)
    return known ?? fallback
  }
}
