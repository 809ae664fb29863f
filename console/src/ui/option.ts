/** A choice of a field: a value and its text, which may be the same. */
export type Option = string | readonly [value: string, text: string]
