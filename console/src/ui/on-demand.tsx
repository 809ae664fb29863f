import { type ComponentType, useEffect, useState } from 'react'
import { Loading } from './states.tsx'

interface Script<Props> {
  readonly load: () => Promise<{ readonly default: ComponentType<Props> }>
  /** Null until it is loaded. */
  Loaded: ComponentType<Props> | null
}

/**
 * A component whose script is loaded when the component is first shown. React's `lazy` would show a fallback for 300 ms
 * even if the script is loaded sooner. A script that cannot be loaded is an error of the page.
 */
export function onDemand<Props extends object>(load: Script<Props>['load'], what?: string): ComponentType<Props> {
  const script: Script<Props> = { load, Loaded: null }
  return (props) => <OnDemand script={script} what={what} props={props} />
}

function OnDemand<Props extends object>({
  script,
  what,
  props,
}: {
  script: Script<Props>
  what?: string
  props: Props
}) {
  const [Loaded, setLoaded] = useState(() => script.Loaded)
  const [failure, setFailure] = useState<{ readonly error: unknown } | null>(null)
  useEffect(() => {
    if (Loaded !== null) return
    let isGone = false
    script.load().then(
      (module) => {
        script.Loaded = module.default
        if (!isGone) setLoaded(() => module.default)
      },
      (error) => {
        if (!isGone) setFailure({ error })
      },
    )
    return () => {
      isGone = true
    }
  }, [script, Loaded])
  if (failure) throw failure.error
  return Loaded === null ? <Loading what={what} /> : <Loaded {...props} />
}
