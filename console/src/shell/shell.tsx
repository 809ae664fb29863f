import { PanelLeftClose, PanelLeftOpen } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import { useQuery } from 'urql'
import { Link, matchRoute, Redirect, Route, Switch, useLocation, useRouter } from 'wouter'
import { isProduction } from '../../../src/base/limits.ts'
import type { ResultOf } from '../graphql.ts'
import { addressOf, GROUPS, routes } from '../routes.tsx'
import { LimitsProvider, mayOf, type Right, SessionProvider, useDenial } from '../session/permission.tsx'
import { endSession, type Session } from '../session/session.ts'
import { Button } from '../ui/button.tsx'
import { Page } from '../ui/page.tsx'
import { prefer, usePreferences } from '../ui/preferences.ts'
import { Answer, Empty } from '../ui/states.tsx'
import { keepText } from '../ui/storage.ts'
import { EnvironmentClock } from './clock.tsx'
import { CommandMenu } from './command-menu.tsx'
import { EnvironmentProvider } from './environment.tsx'
import { ErrorBoundary } from './error-boundary.tsx'
import { useKeptFocus } from './kept-focus.ts'
import { projectQuery } from './operations.ts'

const LAST = 'tierway.environment'

/** The frame of every page: the navigation, the environment, the person. */
export function Shell({ session }: { session: Session }) {
  const [project, readProject] = useQuery({ query: projectQuery })
  return (
    <SessionProvider value={session}>
      <Answer of={project} onRetry={() => readProject({ requestPolicy: 'network-only' })}>
        {({ project: { name, environments } }) => (
          <Frame session={session} projectName={name} environments={environments} />
        )}
      </Answer>
    </SessionProvider>
  )
}

function Frame(props: {
  readonly session: Session
  readonly projectName: string
  readonly environments: ResultOf<typeof projectQuery>['project']['environments']
}) {
  const { session, projectName } = props
  const environments = props.environments.map(({ name }) => name)
  const [location, navigate] = useLocation()
  const { parser } = useRouter()
  const [, inPath] = matchRoute(parser, '/env/:environment/*?', location)
  const environment = environmentOf(inPath?.environment, environments)
  const [isMenuOpen, setMenuOpen] = useState(false)
  const [isNavOpen, setNavOpen] = useState(false)
  const { theme, times, lists, isNavNarrow } = usePreferences()
  const limits = props.environments
    .find(({ name }) => name === environment)
    ?.roleLimits.find(({ role }) => role === session.role)

  useEffect(() => {
    if (inPath?.environment === environment) keepText(sessionStorage, LAST, environment)
  }, [inPath?.environment, environment])
  useShortcuts(() => setMenuOpen(true))
  useKeptFocus(location)
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page closes the navigation of small screens
  useEffect(() => setNavOpen(false), [location])

  const switchTo = (other: string) => {
    const route = routes.find(({ path }) => matchRoute(parser, path, location)[0])
    // An object of one environment does not exist in another, so its list is opened.
    const isObject = route !== undefined && route.entry === undefined
    const path = isObject ? route.path.split('/').slice(0, 4).join('/') : (route?.path ?? '')
    navigate(path.startsWith('/env/') ? addressOf(path, { environment: other }) : `/env/${other}/today`)
    if (!path.startsWith('/env/')) keepText(sessionStorage, LAST, other)
  }

  return (
    <div
      className={['shell', isProduction(environment) && 'production', isNavNarrow && 'narrow']
        .filter(Boolean)
        .join(' ')}
    >
      <a className="skip" href="#page">
        Skip to the page
      </a>
      <header className="top">
        <button
          type="button"
          className="button quiet nav-toggle"
          aria-expanded={isNavOpen}
          aria-controls="navigation"
          onClick={() => setNavOpen(!isNavOpen)}
        >
          ☰ <span className="hidden">Navigation</span>
        </button>
        <strong className="project">{projectName}</strong>
        <label className="environment">
          <span className="hidden">Environment</span>
          <select value={environment} onChange={(event) => switchTo(event.target.value)}>
            {environments.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        {isProduction(environment) && <span className="badge production">production</span>}
        <button type="button" className="button search" onClick={() => setMenuOpen(true)}>
          Search <kbd>/</kbd>
        </button>
      </header>
      <nav id="navigation" className={isNavOpen ? 'open' : undefined} aria-label="Pages">
        <Entries environment={environment} session={session} />
        <footer>
          <Button
            tone="quiet"
            pressed={isNavNarrow}
            onClick={() => prefer({ isNavNarrow: !isNavNarrow })}
            label={isNavNarrow ? 'Names in the navigation' : 'Only icons in the navigation'}
          >
            {isNavNarrow ? <PanelLeftOpen size={16} /> : <PanelLeftClose size={16} />}
          </Button>
          <Button
            tone="quiet"
            onClick={() => prefer({ times: times === 'UTC' ? 'local' : 'UTC' })}
            label={`Times: ${times}. Switch.`}
          >
            Times: {times}
          </Button>
          <Button
            tone="quiet"
            onClick={() => prefer({ lists: lists === 'relative' ? 'exact' : 'relative' })}
            label={`Times in lists: ${lists}. Switch.`}
          >
            In lists: {lists}
          </Button>
          <Button
            tone="quiet"
            onClick={() => prefer({ theme: theme === 'system' ? 'dark' : theme === 'dark' ? 'light' : 'system' })}
            label={`Colours: ${theme}. Switch.`}
          >
            Colours: {theme}
          </Button>
          <p className="person">
            {session.actor} <span className="badge">{session.role.toLowerCase()}</span>
          </p>
          <Button tone="quiet" onClick={() => endSession()}>
            Sign out
          </Button>
        </footer>
      </nav>
      <main id="page">
        <EnvironmentProvider value={environment}>
          <LimitsProvider value={limits ? { environment, ...limits } : null}>
            <ErrorBoundary key={location}>
              <EnvironmentClock environment={environment}>
                <Pages environment={environment} environments={environments} />
              </EnvironmentClock>
            </ErrorBoundary>
          </LimitsProvider>
        </EnvironmentProvider>
      </main>
      {isMenuOpen && (
        <CommandMenu
          environment={environment}
          environments={environments}
          onEnvironment={switchTo}
          onClose={() => setMenuOpen(false)}
        />
      )}
    </div>
  )
}

function Entries({ environment, session }: { environment: string; session: Session }) {
  const [location] = useLocation()
  const shown = routes.filter(({ needs }) => needs === undefined || mayOf(session, needs))
  return GROUPS.filter((group) => shown.some(({ entry }) => entry?.group === group)).map((group) => (
    <section key={group}>
      <span className="group" aria-hidden="true">
        {group}
      </span>
      <ul aria-label={group}>
        {shown.map(({ path, entry }) => {
          if (entry?.group !== group) return null
          const { name, icon: Icon } = entry
          const href = addressOf(path, { environment })
          const isHere = location === href || location.startsWith(`${href}/`)
          return (
            <li key={path}>
              <Link href={href} aria-current={isHere ? 'page' : undefined} title={name}>
                <Icon size={16} className="icon" aria-hidden="true" />
                <span>{name}</span>
              </Link>
            </li>
          )
        })}
      </ul>
    </section>
  ))
}

function Pages({ environment, environments }: { environment: string; environments: readonly string[] }) {
  if (environment === '') {
    return (
      <Switch>
        <Route path="/project/environments" component={routeAt('/project/environments')} />
        <Route>
          <Redirect to="/project/environments" />
        </Route>
      </Switch>
    )
  }
  return (
    <Switch>
      {routes.map(({ path, needs, component: Component }) => (
        <Route key={path} path={path}>
          {(parameters: Readonly<Record<string, string | undefined>>) =>
            parameters.environment !== undefined && !environments.includes(parameters.environment) ? (
              <Missing what={`There is no environment ${parameters.environment}`} />
            ) : needs ? (
              <Guarded needs={needs}>
                <Component />
              </Guarded>
            ) : (
              <Component />
            )
          }
        </Route>
      ))}
      <Route path="/">
        <Redirect to={`/env/${environment}/today`} />
      </Route>
      <Route>
        <Missing what="There is no such page" />
      </Route>
    </Switch>
  )
}

function Guarded({ needs, children }: { needs: Right; children: ReactNode }) {
  const denial = useDenial(needs)
  if (denial === undefined) return children
  return (
    <Page title="Not for your role">
      <Empty title="This page is not shown">{denial}</Empty>
    </Page>
  )
}

const Missing = ({ what }: { what: string }) => (
  <Page title="Not found">
    <Empty title={what}>
      <Link href="/">Go to the first page</Link>
    </Empty>
  </Page>
)

const routeAt = (path: string) => routes.find((route) => route.path === path)?.component

/** The environment of the address, else the last one, else production or the first. Empty for a project without any. */
function environmentOf(asked: string | undefined, all: readonly string[]): string {
  const candidates = [asked, sessionStorage.getItem(LAST), 'production', all[0]]
  return candidates.find((one) => typeof one === 'string' && all.includes(one)) ?? ''
}

/** `/` and Ctrl K open the menu, except where a person types. */
function useShortcuts(open: () => void): void {
  useEffect(() => {
    function onKey(event: KeyboardEvent): void {
      const target = event.target instanceof HTMLElement ? event.target : undefined
      const isTyping = target?.closest('input, textarea, select, [contenteditable="true"], dialog') != null
      const isMenu = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
      if (!isMenu && (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey)) return
      event.preventDefault()
      open()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  })
}
