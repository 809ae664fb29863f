import {
  Activity,
  Bell,
  CalendarDays,
  ChartNoAxesColumn,
  Filter,
  Gift,
  KeyRound,
  Layers,
  type LucideIcon,
  Plug,
  Rocket,
  ScrollText,
  ShieldCheck,
  Sun,
  Users,
  Workflow,
} from 'lucide-react'
import type { ComponentType } from 'react'
import type { Right } from './session/permission.tsx'
import { onDemand } from './ui/on-demand.tsx'

/** The groups of the navigation, in their order. */
export const GROUPS = ['Now', 'Season', 'People', 'Setup'] as const

export interface PageRoute {
  /** The path, below /console. Paths of environments begin with `/env/:environment`. */
  readonly path: string
  readonly component: ComponentType
  /** The right without which the page shows nothing. */
  readonly needs?: Right
  /** The place in the navigation. Pages without one are reached from others. */
  readonly entry?: PageEntry
}

export interface PageEntry {
  readonly name: string
  readonly group: (typeof GROUPS)[number]
  readonly icon: LucideIcon
}

/** The pages of the console. Each page is loaded when it is opened. */
export const routes: readonly PageRoute[] = [
  {
    path: '/env/:environment/today',
    entry: { name: 'Today', group: 'Now', icon: Sun },
    component: onDemand(() => import('./today/today-page.tsx')),
  },
  {
    path: '/env/:environment/live',
    needs: 'players',
    entry: { name: 'Live', group: 'Now', icon: Activity },
    component: onDemand(() => import('./live/live-page.tsx')),
  },
  {
    path: '/env/:environment/battle-pass/:scenarioId?/:nodeId?',
    entry: { name: 'Battle pass', group: 'Season', icon: ChartNoAxesColumn },
    component: onDemand(() => import('./battlepass/battle-pass-page.tsx')),
  },
  {
    path: '/env/:environment/boosts',
    entry: { name: 'Boosts', group: 'Season', icon: Rocket },
    component: onDemand(() => import('./boosts/boosts-page.tsx')),
  },
  {
    path: '/env/:environment/calendar',
    entry: { name: 'Calendar', group: 'Season', icon: CalendarDays },
    component: onDemand(() => import('./calendar/calendar-page.tsx')),
  },
  {
    path: '/env/:environment/players',
    needs: 'players',
    entry: { name: 'Players', group: 'People', icon: Users },
    component: onDemand(() => import('./players/players-page.tsx')),
  },
  {
    path: '/env/:environment/players/:playerId/:tab?',
    needs: 'players',
    component: onDemand(() => import('./players/player-page.tsx')),
  },
  {
    path: '/env/:environment/segments',
    needs: 'players',
    entry: { name: 'Segments', group: 'People', icon: Filter },
    component: onDemand(() => import('./segments/segments-page.tsx')),
  },
  {
    path: '/env/:environment/grants',
    needs: 'players',
    entry: { name: 'Grants', group: 'People', icon: Gift },
    component: onDemand(() => import('./grants/grants-page.tsx')),
  },
  {
    path: '/env/:environment/grants/new',
    needs: 'players',
    component: onDemand(() => import('./grants/new-grant-page.tsx')),
  },
  {
    path: '/env/:environment/grants/:jobId',
    needs: 'players',
    component: onDemand(() => import('./grants/job-page.tsx')),
  },
  {
    path: '/env/:environment/scenarios',
    entry: { name: 'Designer', group: 'Season', icon: Workflow },
    component: onDemand(() => import('./designer/scenarios-page.tsx')),
  },
  {
    path: '/env/:environment/scenarios/:scenarioId/:tab?',
    component: onDemand(() => import('./designer/scenario-page.tsx')),
  },
  {
    path: '/env/:environment/providers',
    entry: { name: 'Providers', group: 'Setup', icon: Plug },
    component: onDemand(() => import('./providers/providers-page.tsx')),
  },
  {
    path: '/env/:environment/alerts',
    entry: { name: 'Alerts', group: 'Setup', icon: Bell },
    component: onDemand(() => import('./alerts/alerts-page.tsx')),
  },
  {
    path: '/env/:environment/roles',
    entry: { name: 'Roles', group: 'Setup', icon: ShieldCheck },
    component: onDemand(() => import('./roles/roles-page.tsx')),
  },
  {
    path: '/project/environments',
    entry: { name: 'Environments', group: 'Setup', icon: Layers },
    component: onDemand(() => import('./project/environments-page.tsx')),
  },
  {
    path: '/project/keys',
    entry: { name: 'Keys', group: 'Setup', icon: KeyRound },
    component: onDemand(() => import('./project/keys-page.tsx')),
  },
  {
    path: '/project/audit/:entryId?',
    entry: { name: 'Audit log', group: 'Setup', icon: ScrollText },
    component: onDemand(() => import('./project/audit-page.tsx')),
  },
]

export const addressOf = (path: string, parameters: Readonly<Record<string, string>>): string =>
  path
    .split('/')
    .flatMap((part) => {
      if (!part.startsWith(':')) return part
      const value = parameters[part.slice(1).replace('?', '')]
      return value === undefined ? [] : encodeURIComponent(value)
    })
    .join('/')
