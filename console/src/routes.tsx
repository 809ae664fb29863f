import { type ComponentType, lazy } from 'react'

/** One page of the console. */
export interface PageRoute {
  /** The path, below /console. Paths of environments begin with `/env/:environment`. */
  readonly path: string
  readonly component: ComponentType
  /** The name in the navigation. Pages without one are reached from others. */
  readonly name?: string
}

/** Contents page of the console. Each page is loaded when it is opened. */
export const routes: readonly PageRoute[] = [
  { path: '/env/:environment/live', name: 'Live', component: lazy(() => import('./live/live-page.tsx')) },
  {
    path: '/env/:environment/battle-pass/:scenarioId?/:nodeId?',
    name: 'Battle pass',
    component: lazy(() => import('./battlepass/battle-pass-page.tsx')),
  },
  { path: '/env/:environment/players', name: 'Players', component: lazy(() => import('./players/players-page.tsx')) },
  {
    path: '/env/:environment/players/:playerId/:tab?',
    component: lazy(() => import('./players/player-page.tsx')),
  },
  {
    path: '/env/:environment/scenarios',
    name: 'Designer',
    component: lazy(() => import('./designer/scenarios-page.tsx')),
  },
  {
    path: '/env/:environment/scenarios/:scenarioId/:tab?',
    component: lazy(() => import('./designer/scenario-page.tsx')),
  },
  {
    path: '/env/:environment/providers',
    name: 'Providers',
    component: lazy(() => import('./providers/providers-page.tsx')),
  },
  {
    path: '/project/environments',
    name: 'Environments',
    component: lazy(() => import('./project/environments-page.tsx')),
  },
  { path: '/project/keys', name: 'Keys', component: lazy(() => import('./project/keys-page.tsx')) },
  { path: '/project/audit/:entryId?', name: 'Audit log', component: lazy(() => import('./project/audit-page.tsx')) },
]

/** The address of a page, from its path and the values of its parameters. */
export const addressOf = (path: string, parameters: Readonly<Record<string, string>>): string =>
  path
    .split('/')
    .flatMap((part) => {
      if (!part.startsWith(':')) return part
      const value = parameters[part.slice(1).replace('?', '')]
      return value === undefined ? [] : encodeURIComponent(value)
    })
    .join('/')
