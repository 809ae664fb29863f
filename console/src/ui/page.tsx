import { Fragment, type ReactNode, useEffect } from 'react'

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

export const Panel = (props: {
  readonly title: string
  readonly actions?: ReactNode
  readonly children: ReactNode
}) => (
  <section className="panel">
    <header>
      <h2>{props.title}</h2>
      {props.actions && <div className="actions">{props.actions}</div>}
    </header>
    {props.children}
  </section>
)

/** Facts below each other, by their names. Those that are false are left out. */
export const Facts = ({ of }: { of: Readonly<Record<string, ReactNode>> }) => (
  <dl className="facts">
    {Object.entries(of).map(
      ([name, value]) =>
        value !== false && (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
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
        <dd>
          {value}
          {note && <small className="muted"> {note}</small>}
        </dd>
      </div>
    ))}
  </dl>
)
