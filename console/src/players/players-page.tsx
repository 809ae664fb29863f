import { Page } from '../ui/page.tsx'

export default function PlayersPage() {
  return <Page title="Players">{null}</Page>
}
