import {
  type ChangeEvent,
  createContext,
  type FormEvent,
  type InputHTMLAttributes,
  type ReactNode,
  useCallback,
  useContext,
  useId,
  useLayoutEffect,
  useState,
} from 'react'
import { MAX_REASON } from '../../../src/base/limits.ts'
import { Button } from './button.tsx'
import { type Fault, faultText, inWords, type Labels, sentence } from './errors.ts'
import { localOf, utcOf } from './moment-field.ts'
import type { Option } from './option.ts'
import { usePreferences } from './preferences.ts'
import { Notice } from './states.tsx'

interface FormContext {
  readonly faults: readonly Fault[]
  readonly labels: Labels
  /** Adds a field to the form. The returned function removes it. */
  readonly add: (name: string, label: string) => () => void
  /** Whether the form is being sent. */
  readonly isBusy: boolean
}

const FormContext = createContext<FormContext>({ faults: [], labels: {}, add: () => () => {}, isBusy: false })

/** The field that a fault names: `amount` for `input.amount`, `data` for `input.data.rewards[0]`. */
const fieldOf = ({ path }: Fault): string | undefined => path.replace(/^input\./, '').split(/[.[]/)[0]

const NO_FAULTS: readonly Fault[] = []

/**
 * A form. A fault is shown at the field that its path names, or below the fields when there is no such field. It goes when
 * the field is changed. When sending throws, as for an answer that the page cannot read, the form says so and can be sent again.
 */
export function Form(props: {
  readonly onSubmit: () => Promise<void>
  readonly faults?: readonly Fault[]
  /** Called when a person changes a field. */
  readonly onChange?: () => void
  readonly children: ReactNode
}) {
  const all = props.faults ?? NO_FAULTS
  const [fields, setFields] = useState<readonly { readonly name: string; readonly label: string }[]>([])
  const [shown, setShown] = useState<{ readonly of: readonly Fault[]; readonly corrected: readonly string[] }>()
  const corrected = shown?.of === all ? shown.corrected : []
  const faults = all.filter((fault) => !corrected.includes(fieldOf(fault) ?? ''))
  const labels = Object.fromEntries(fields.map(({ name, label }) => [name, label]))
  const [isBusy, setBusy] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const add = useCallback((name: string, label: string) => {
    const field = { name, label }
    setFields((before) => [...before, field])
    return () => setFields((before) => before.filter((one) => one !== field))
  }, [])
  const rest = faults.filter((fault) => !fields.some(({ name }) => name === fieldOf(fault)))

  function onChange({ target }: ChangeEvent<HTMLFormElement>): void {
    const { name } = target as { readonly name?: string }
    if (name) setShown({ of: all, corrected: [...corrected, name] })
    props.onChange?.()
  }

  async function submit(event: FormEvent): Promise<void> {
    event.preventDefault()
    setBusy(true)
    setFailure(undefined)
    try {
      await props.onSubmit()
    } catch (error) {
      setFailure(error)
    } finally {
      setBusy(false)
    }
  }

  return (
    <FormContext value={{ faults, labels, add, isBusy }}>
      <form className="form" onSubmit={submit} onChange={onChange} noValidate={false}>
        {props.children}
        {rest.map((fault) => (
          <p key={`${fault.path} ${fault.message}`} className="fault">
            {faultText(fault, labels)}
          </p>
        ))}
        {failure !== undefined && (
          <Notice tone="error">
            The page cannot show how this ended ({String(failure)}). It may have taken effect: look before you try
            again.
          </Notice>
        )}
      </form>
    </FormContext>
  )
}

/** The button that sends its form. It is busy until the form has an answer. */
export function SubmitButton(props: {
  readonly tone?: 'primary' | 'danger'
  readonly disabled?: boolean
  readonly children: ReactNode
  /** Its text while the form is being sent. Default: the same. */
  readonly whileBusy?: string
}) {
  const { isBusy } = useContext(FormContext)
  return (
    <Button type="submit" tone={props.tone ?? 'primary'} busy={isBusy} disabled={props.disabled}>
      {isBusy ? (props.whileBusy ?? props.children) : props.children}
    </Button>
  )
}

interface FieldProps {
  readonly label: string
  /** The name of the member of the input. A field outside of a form may have none. */
  readonly name?: string
  readonly hint?: ReactNode
  /** Faults in sentences. Default: those of the service, for the field of a form. */
  readonly faults?: readonly string[]
}

function Field(props: FieldProps & { readonly children: (control: ControlProps) => ReactNode }) {
  const id = useId()
  const { faults, labels, add } = useContext(FormContext)
  const { name, label } = props
  // Before the paint: a field that appears together with its fault would show it below the fields, too, for a moment.
  useLayoutEffect(() => (name === undefined ? undefined : add(name, label)), [add, name, label])
  const ofService = faults
    .filter((fault) => fieldOf(fault) === name)
    .map(({ message }) => sentence(inWords(message, labels)))
  const own = props.faults ?? ofService
  const described = [props.hint && `${id}-hint`, own.length > 0 && `${id}-fault`].filter(Boolean).join(' ')
  const control = {
    id,
    name: props.name,
    'aria-invalid': own.length > 0 || undefined,
    'aria-describedby': described || undefined,
  }
  return (
    <div className="field">
      <label htmlFor={id}>{props.label}</label>
      {props.children(control)}
      {props.hint && (
        <p className="hint" id={`${id}-hint`}>
          {props.hint}
        </p>
      )}
      {own.length > 0 && (
        <p className="fault" id={`${id}-fault`}>
          {own.join(' ')}
        </p>
      )}
    </div>
  )
}

interface ControlProps {
  readonly id: string
  readonly name: string | undefined
  readonly 'aria-invalid': true | undefined
  readonly 'aria-describedby': string | undefined
}

type InputProps = Pick<
  InputHTMLAttributes<HTMLInputElement>,
  | 'value'
  | 'type'
  | 'placeholder'
  | 'required'
  | 'autoFocus'
  | 'autoComplete'
  | 'inputMode'
  | 'pattern'
  | 'maxLength'
  | 'step'
  | 'readOnly'
  | 'onBlur'
  | 'onKeyDown'
>

interface TextProps extends FieldProps, InputProps {
  readonly value: string
  readonly onChange: (value: string) => void
  /** Texts to choose from; others can be typed, too. */
  readonly suggestions?: readonly string[] | undefined
  /** The value is a time in UTC. The field has it in the preferred zone, and says which one that is. */
  readonly isMoment?: boolean
}

export function TextField({ label, name, hint, faults, suggestions, autoFocus, isMoment, ...props }: TextProps) {
  const listId = useId()
  const { times } = usePreferences()
  const { onChange, ...input } = useZone(props, isMoment ? times : 'UTC')
  const zone = times === 'UTC' ? 'UTC' : 'local time'
  return (
    <Field label={isMoment ? `${label} (${zone})` : label} name={name} hint={hint} faults={faults}>
      {(control) => (
        <>
          <input
            {...control}
            {...input}
            {...(isMoment && { type: 'datetime-local' })}
            list={suggestions && listId}
            // biome-ignore lint/a11y/noAutofocus: the first field of a page or dialog that a person has just opened
            autoFocus={autoFocus}
            onChange={(event) => onChange(event.target.value)}
          />
          {suggestions && (
            <datalist id={listId}>
              {suggestions.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Field>
  )
}

/** A field whose texts are times in UTC, by the clock of this computer. What is typed stays as it is. */
function useZone<Props extends Pick<TextProps, 'value' | 'onChange'>>(props: Props, zone: 'UTC' | 'local'): Props {
  const [typed, setTyped] = useState({ text: '', utc: '' })
  if (zone === 'UTC') return props
  return {
    ...props,
    value: typed.utc === props.value ? typed.text : localOf(props.value),
    onChange(text: string) {
      const utc = utcOf(text)
      setTyped({ text, utc })
      props.onChange(utc)
    },
  }
}

export function TextAreaField(
  props: FieldProps & {
    readonly value: string
    readonly onChange: (value: string) => void
    readonly rows?: number
    readonly required?: boolean
    readonly maxLength?: number
  },
) {
  const { label, name, hint, onChange, ...input } = props
  return (
    <Field label={label} name={name} hint={hint}>
      {(control) => <textarea {...control} {...input} onChange={(event) => onChange(event.target.value)} />}
    </Field>
  )
}

export function SelectField(
  props: FieldProps & {
    readonly value: string
    readonly onChange: (value: string) => void
    readonly options: readonly Option[]
  },
) {
  return (
    <Field label={props.label} name={props.name} hint={props.hint} faults={props.faults}>
      {(control) => (
        <select {...control} value={props.value} onChange={(event) => props.onChange(event.target.value)}>
          {props.options
            .map((option) => (typeof option === 'string' ? [option, option] : option))
            .map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
        </select>
      )}
    </Field>
  )
}

export function CheckField(
  props: FieldProps & { readonly value: boolean; readonly onChange: (value: boolean) => void },
) {
  return (
    <Field label={props.label} name={props.name} hint={props.hint}>
      {(control) => (
        <input
          {...control}
          type="checkbox"
          checked={props.value}
          onChange={(event) => props.onChange(event.target.checked)}
        />
      )}
    </Field>
  )
}

/** The reason of a change. The audit log keeps it. */
export const ReasonField = ({ value, onChange }: { value: string; onChange: (value: string) => void }) => (
  <TextAreaField
    label="Reason"
    name="reason"
    hint="Kept in the audit log. Players never see it."
    value={value}
    onChange={onChange}
    rows={2}
    maxLength={MAX_REASON}
    required
  />
)
