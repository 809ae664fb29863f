import { type ComponentType, useCallback, useEffect, useState } from 'react'
import { Button } from './button.tsx'
import { Loading } from './states.tsx'

interface Script<Props> {
  readonly load: () => Promise<{ readonly default: ComponentType<Props> }>
  /** Null until it is loaded. */
  Loaded: ComponentType<Props> | null
}

/**
 * A component whose script is loaded when the component is first shown. React's `lazy` would show a fallback for 300 ms
 * even if the script is loaded sooner. Of one that cannot be loaded the page says why, and it can be tried again.
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
  const [hasFailed, setFailed] = useState(false)
  useEffect(() => {
    if (Loaded !== null) return
    let isGone = false
    script.load().then(
      (module) => {
        script.Loaded = module.default
        if (!isGone) setLoaded(() => module.default)
      },
      () => {
        if (!isGone) setFailed(true)
      },
    )
    return () => {
      isGone = true
    }
  }, [script, Loaded])
  if (hasFailed) return <NotLoaded />
  return Loaded === null ? <Loading what={what} /> : <Loaded {...props} />
}

const AGAIN_MS = 3_000

/**
 * Said in place of a script that could not be loaded. Browsers do not load such a script again in the same page, so the
 * page is loaded again: when the service that was away answers, or when the person asks.
 */
function NotLoaded() {
  const [isAway, setAway] = useState<boolean>()
  const look = useCallback(async () => {
    const isThere = await fetch('/livez', { cache: 'no-store' }).then(
      ({ ok }) => ok,
      () => false,
    )
    setAway((before) => {
      if (before === true && isThere) location.reload()
      return !isThere
    })
    return isThere
  }, [])
  useEffect(() => {
    void look()
    const timer = setInterval(() => void look(), AGAIN_MS)
    return () => clearInterval(timer)
  }, [look])
  if (isAway === undefined) return <Loading />
  return (
    <div className="state" role="alert">
      <strong>{isAway ? 'The service cannot be reached' : 'This page could not be loaded'}</strong>
      <p>
        {isAway
          ? 'It may be restarting. The page continues by itself when the service answers.'
          : 'A new version of the service may have replaced its files.'}
      </p>
      <Button onClick={() => void look().then((isThere) => isThere && location.reload())}>Try again</Button>
    </div>
  )
}
