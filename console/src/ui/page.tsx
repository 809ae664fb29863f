import { Info } from 'lucide-react'
import { Fragment, type ReactNode, useEffect, useId, useState } from 'react'

/** A page with its title, which is also that of the browser's tab. `about` stands beside it, in a line. */
export function Page(props: {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  useEffect(() => {
    document.title = `${props.title} · Tierway`
  }, [props.title])
  return (
    <>
      <header className="page-header">
        <h1 tabIndex={-1}>{props.title}</h1>
        {props.about && <div className="about">{props.about}</div>}
        {props.actions && <div className="actions">{props.actions}</div>}
      </header>
      {props.children}
    </>
  )
}

/** A part of a page. `about` explains it to a person who asks, by a button beside the title. */
export function Panel(props: {
  readonly title: string
  readonly about?: ReactNode
  readonly actions?: ReactNode
  readonly children: ReactNode
}) {
  const { title, about, actions, children } = props
  const [isOpen, setOpen] = useState(false)
  const id = useId()
  return (
    <section className="panel">
      <header>
        <h2>{title}</h2>
        {about && (
          <button
            type="button"
            className="button quiet about"
            aria-label={`About ${title}`}
            aria-expanded={isOpen}
            aria-controls={isOpen ? id : undefined}
            onClick={() => setOpen(!isOpen)}
          >
            <Info size={16} aria-hidden="true" />
          </button>
        )}
        {actions && <div className="actions">{actions}</div>}
      </header>
      {isOpen && (
        <p className="muted" id={id}>
          {about}
        </p>
      )}
      {children}
    </section>
  )
}

/** Facts below each other, by their names. Those that are false are left out. */
export const Facts = ({ of }: { of: Readonly<Record<string, ReactNode>> }) => (
  <dl className="facts">
    {Object.entries(of).map(
      ([name, value]) =>
        value !== false && (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd translate="no">{value}</dd>
          </Fragment>
        ),
    )}
  </dl>
)

/** Figures in a row, each with its name. */
export const Figures = ({ of }: { of: readonly (readonly [name: string, value: ReactNode, note?: string])[] }) => (
  <dl className="figures">
    {of.map(([name, value, note]) => (
      <div key={name}>
        <dt>{name}</dt>
        <dd translate="no">
          {value}
          {note && <small className="muted"> {note}</small>}
        </dd>
      </div>
    ))}
  </dl>
)
