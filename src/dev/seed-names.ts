// Names, languages and homes of seeded players.

export interface Locale {
  readonly region: string
  readonly language: string
  /** Hours ahead of UTC, for the time of its evenings. */
  readonly utcOffset: number
  readonly share: number
  /** A nickname consists of one of each, and often a number. */
  readonly first: readonly string[]
  readonly last: readonly string[]
}

const ENGLISH = {
  first: ['Silent', 'Crimson', 'Lucky', 'Frost', 'Iron', 'Velvet', 'Turbo', 'Hidden', 'Neon', 'Wild', 'Tiny', 'Grim'],
  last: ['Fox', 'Raven', 'Knight', 'Badger', 'Comet', 'Wizard', 'Panda', 'Blade', 'Otter', 'Storm', 'Viking', 'Moth'],
}
const SPANISH = {
  first: ['Lobo', 'Halcón', 'Dragón', 'Tigre', 'Señor', 'Reina', 'Búho', 'Trueno', 'Niño', 'Capitán'],
  last: ['Rojo', 'Azul', 'Feroz', 'Veloz', 'Salvaje', 'Dorado', 'Nocturno', 'Mágico', 'Perdido', 'Eterno'],
}

export const LOCALES: readonly Locale[] = [
  { region: 'US', language: 'en', utcOffset: -6, share: 22, ...ENGLISH },
  { region: 'GB', language: 'en-GB', utcOffset: 0, share: 7, ...ENGLISH },
  {
    region: 'DE',
    language: 'de',
    utcOffset: 1,
    share: 8,
    first: ['Schatten', 'Eis', 'Donner', 'Käse', 'Wüsten', 'Stahl', 'Mond', 'Glücks', 'Nebel', 'Über'],
    last: ['wolf', 'bär', 'ritter', 'fuchs', 'könig', 'vogel', 'jäger', 'keks', 'löwe', 'geist'],
  },
  {
    region: 'FR',
    language: 'fr',
    utcOffset: 1,
    share: 6,
    first: ['Petit', 'Grand', 'Vieux', 'Noble', 'Étrange', 'Rapide', 'Joli', 'Sombre'],
    last: ['Renard', 'Hérisson', 'Chevalier', 'Loup', 'Crêpe', 'Corbeau', 'Lièvre', 'Éclair'],
  },
  { region: 'ES', language: 'es', utcOffset: 1, share: 5, ...SPANISH },
  { region: 'MX', language: 'es-MX', utcOffset: -6, share: 6, ...SPANISH },
  {
    region: 'BR',
    language: 'pt-BR',
    utcOffset: -3,
    share: 11,
    first: ['Onça', 'Capivara', 'João', 'Rei', 'Trovão', 'Leão', 'Bruxa', 'Menino', 'Gavião', 'Maçã'],
    last: ['Brava', 'Veloz', 'do Sul', 'Dourado', 'Fantasma', 'da Noite', 'Maluco', 'Feliz', 'Azul', '10'],
  },
  {
    region: 'JP',
    language: 'ja',
    utcOffset: 9,
    share: 9,
    first: ['さくら', 'たぬき', '月影', '鉄の', '青い', 'ねこ', '疾風', '星の', 'まったり', '謎の'],
    last: ['剣士', 'うさぎ', '侍', 'おにぎり', '竜', '旅人', 'にゃん', '王子', '仮面', '太郎'],
  },
  {
    region: 'KR',
    language: 'ko',
    utcOffset: 9,
    share: 7,
    first: ['붉은', '달빛', '작은', '푸른', '빠른', '귀여운', '전설의', '졸린'],
    last: ['호랑이', '토끼', '기사', '용', '고양이', '여우', '만두', '궁수'],
  },
  {
    region: 'CN',
    language: 'zh-Hans',
    utcOffset: 8,
    share: 6,
    first: ['小', '飞天', '白', '神秘', '快乐', '无敌', '夜', '红'],
    last: ['熊猫', '剑客', '龙', '狐狸', '饺子', '战士', '猫', '侠'],
  },
  {
    region: 'RU',
    language: 'ru',
    utcOffset: 3,
    share: 4,
    first: ['Тихий', 'Снежный', 'Быстрый', 'Чёрный', 'Добрый', 'Железный'],
    last: ['Волк', 'Медведь', 'Ёж', 'Сокол', 'Кот', 'Рыцарь'],
  },
  {
    region: 'TR',
    language: 'tr',
    utcOffset: 3,
    share: 3,
    first: ['Işık', 'Kızıl', 'Gölge', 'Çılgın', 'Şimşek', 'Büyük'],
    last: ['Kurt', 'Aslan', 'Savaşçı', 'Şahin', 'Yıldız', 'Ejder'],
  },
  {
    region: 'PL',
    language: 'pl',
    utcOffset: 1,
    share: 3,
    first: ['Żelazny', 'Cichy', 'Szybki', 'Wściekły', 'Mały', 'Złoty'],
    last: ['Żubr', 'Bóbr', 'Rycerz', 'Wilk', 'Jeż', 'Pieróg'],
  },
  {
    region: 'SA',
    language: 'ar',
    utcOffset: 3,
    share: 2,
    first: ['صقر', 'نمر', 'فارس', 'ذئب', 'نجم'],
    last: ['الصحراء', 'الليل', 'الشمال', 'العرب', 'النور'],
  },
  {
    region: 'IN',
    language: 'hi',
    utcOffset: 5.5,
    share: 4,
    first: ['तेज़', 'नीला', 'वीर', 'छोटा', 'सुनहरा'],
    last: ['शेर', 'बाघ', 'योद्धा', 'मोर', 'हाथी'],
  },
  {
    region: 'SE',
    language: 'sv',
    utcOffset: 1,
    share: 1,
    first: ['Snö', 'Älg', 'Järn'],
    last: ['räven', 'örn', 'björn'],
  },
]
