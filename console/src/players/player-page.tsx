import { Page } from '../ui/page.tsx'

export default function PlayerPage() {
  return <Page title="Player">{null}</Page>
}
