export interface LimitsVariable<Name extends string, Limit> {
  readonly variable: string
  /** Valid entries, shown in the fault of an invalid one. */
  readonly example: string
  readonly form: string
  /** The allowed limits, such as `1 to 10 calls`. */
  readonly bounds: string
  /** Null turns a limit off. */
  readonly defaults: Readonly<Record<Name, Limit | null>>
  /** A limit of this form; undefined outside the bounds. */
  read(text: string): Limit | undefined
}

/**
 * Reads a variable of limits: `off`, or entries such as `player=100/s` and `login=off`, separated by commas. Other
 * limits keep their defaults.
 */
export function readLimits<Name extends string, Limit>(
  text: string | null,
  faults: string[],
  { variable, example, form, bounds, defaults, read }: LimitsVariable<Name, Limit>,
): Readonly<Record<Name, Limit | null>> {
  const limits: Record<Name, Limit | null> = { ...defaults }
  const named = new Set<Name>()
  const names = Object.keys(defaults) as Name[]
  if (text === 'off') for (const name of names) limits[name] = null
  if (text === null || text === 'off') return limits
  const pattern = new RegExp(`^\\s*(\\w+)\\s*=\\s*(off|${form})\\s*$`)
  for (const entry of text.split(',')) {
    const [, written, value = ''] = pattern.exec(entry) ?? []
    const name = names.find((each) => each === written)
    const limit = value === 'off' ? null : read(value)
    if (name === undefined)
      faults.push(`${variable} must be off, or a list such as ${example}; "${entry.trim()}" is no entry`)
    else if (named.has(name)) faults.push(`${variable} must name ${name} once`)
    else if (limit === undefined) faults.push(`${variable} must allow ${bounds} for ${name}`)
    else {
      named.add(name)
      limits[name] = limit
    }
  }
  return limits
}
