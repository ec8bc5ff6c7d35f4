import{q as a,r as b}from"./chunk-REYSIVUP.js";import"./chunk-RLH3V6A7.js";export{b as Entries,a as HistoryPage};
