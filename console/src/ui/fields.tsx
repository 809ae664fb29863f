import {
  type ComponentProps,
  type ComponentType,
  createElement,
  Fragment,
  isValidElement,
  type ReactElement,
  useState,
} from 'react'
import { CheckField, SelectField, TextAreaField, TextField } from './form.tsx'

// The fields of a form as data. Their values are one object, whose members they name.

const CONTROLS = { text: TextField, lines: TextAreaField, choice: SelectField, check: CheckField }

type KeysOf<Values, Value> = { [Key in keyof Values]: Values[Key] extends Value ? Key : never }[keyof Values] & string

type Shown<Kind extends keyof typeof CONTROLS, Name> = Omit<
  ComponentProps<(typeof CONTROLS)[Kind]>,
  'name' | 'value' | 'onChange'
> & { readonly name: Name }

export type FormField<Values> =
  | (Shown<'text', KeysOf<Values, string>> & {
      readonly kind?: 'text'
      /** White space around the text is left out. */
      readonly isTrimmed?: boolean
    })
  | (Shown<'lines', KeysOf<Values, string>> & { readonly kind: 'lines' })
  | (Shown<'choice', KeysOf<Values, string>> & { readonly kind: 'choice' })
  | (Shown<'check', KeysOf<Values, boolean>> & { readonly kind: 'check' })

export interface FieldValues<Values> {
  readonly values: Values
  readonly set: (change: Partial<Values>) => void
}

export function useFields<Values extends object>(initial: Values | (() => Values)): FieldValues<Values> {
  const [values, setValues] = useState(initial)
  return { values, set: (change) => setValues((before) => ({ ...before, ...change })) }
}

/** The fields, in their order. Other parts of a form may stand between them. */
export function Fields<Values extends object>(props: {
  readonly of: FieldValues<Values>
  readonly list: readonly (FormField<Values> | ReactElement | false | undefined)[]
}) {
  const { values, set } = props.of
  const shown = props.list.map((one) => {
    if (!one || isValidElement(one)) return one
    const { kind = 'text', isTrimmed, name, ...field } = one as FormField<Values> & { readonly isTrimmed?: boolean }
    return createElement(
      CONTROLS[kind] as ComponentType<object>,
      {
        ...field,
        name,
        value: values[name as keyof Values],
        onChange: (value: string | boolean) =>
          set({ [name]: isTrimmed && typeof value === 'string' ? value.trim() : value } as Partial<Values>),
      } as object,
    )
  })
  return createElement(Fragment, null, ...shown)
}
